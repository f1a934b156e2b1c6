// Convolution, rectifier and 2x2 maximum of one image, with the channels last.
//
// Behind a 2x2 maximum at most one gradient in four is not zero, and the rectifier stops more of them.
// So the backward kernels work on lists of the gradients that are left instead of on dense images.
#pragma once
#include "update.h"

namespace flockwise {

struct Convolution {
  int64_t channels, height, width;  // of the input plane, padding included; channels padded to PAD
  int64_t kernel, outputs;          // outputs padded to PAD
  int64_t depth;                    // how many products one kernel row sums up: kernel * channels, or less
  int64_t pool;                     // 1 or 2
  int64_t weight, bias;             // where they start among the parameters; weights are [outputs][taps()]
  bool relu;

  int64_t row() const { return width * channels; }
  int64_t plane() const { return height * row(); }
  int64_t out_height() const { return height - kernel + 1; }
  int64_t out_width() const { return width - kernel + 1; }
  int64_t pooled_height() const { return out_height() / pool; }
  int64_t pooled_width() const { return out_width() / pool; }
  int64_t windows() const { return pooled_height() * pooled_width(); }
  int64_t taps() const { return kernel * kernel * channels; }
};

constexpr uint8_t DEAD = 4;  // the choice of a window whose maximum the rectifier stops

// Weights by tap instead of by output, [taps][outputs], as the forward kernels read them.
inline void pack_forward(const Convolution& conv, const float* weights, float* packed) {
  const int64_t taps = conv.taps();
  for (int64_t start = 0; start < taps; start += PAD)  // a cache line of each output's row at a time
    for (int64_t output = 0; output < conv.outputs; output++)
      for (int64_t tap = start; tap < start + PAD; tap++)
        packed[tap * conv.outputs + output] = weights[output * taps + tap];
}

// result is [out_height][out_width][outputs], before rectifier and maximum.
inline void forward(const Convolution& conv, const float* packed, const float* bias, const float* plane,
                    float* result) {
  // The rows of a 1x1 kernel follow each other without a gap: treat them as one.
  const bool one_row = conv.kernel == 1;
  const int64_t height = one_row ? 1 : conv.out_height();
  const int64_t width = one_row ? conv.height * conv.width : conv.out_width();
  for_columns(conv.outputs, [&](auto v, int64_t output) {
    for (int64_t y = 0; y < height; y++)
      for_tiles<TILE_ROWS>(width, [&](auto r, int64_t x) {
        constexpr int R = r.value, V = v.value;
        Vec total[R][V];
        for (int i = 0; i < R; i++)
          for (int j = 0; j < V; j++) total[i][j] = load(bias + output + j * LANES);
        for (int64_t k = 0; k < conv.kernel; k++) {
          const float* taps = packed + k * conv.kernel * conv.channels * conv.outputs + output;
          multiply(total, plane + (y + k) * conv.row() + x * conv.channels, conv.channels, conv.depth,
                   [&](int64_t tap) { return taps + tap * conv.outputs; });
        }
        float* target = result + (y * width + x) * conv.outputs + output;
        for (int i = 0; i < R; i++)
          for (int j = 0; j < V; j++) store(target + i * conv.outputs + j * LANES, total[i][j]);
      });
  });
}

// Write maxima to `pooled` (rows `stride` apart) and which pixel of its window each came from to `choice`.
inline void rectify_and_pool(const Convolution& conv, const float* result, float* pooled, int64_t stride,
                             uint8_t* choice) {
  const int64_t line = conv.out_width() * conv.outputs;
  for (int64_t y = 0; y < conv.pooled_height(); y++)
    for (int64_t x = 0; x < conv.pooled_width(); x++)
      for (int64_t c = 0; c < conv.outputs; c += LANES) {
        const float* from = result + y * conv.pool * line + x * conv.pool * conv.outputs + c;
        Vec most = load(from);
        IntVec which = {};
        if (conv.pool == 2) {
          const float* others[] = {from + conv.outputs, from + line, from + line + conv.outputs};
          for (int i = 0; i < 3; i++) {
            const Vec other = load(others[i]);
            const IntVec more = other > most;  // the first of equals wins, as in torch
            most = more ? other : most;
            which = more ? IntVec{} + (i + 1) : which;
          }
        }
        if (conv.relu) {
          which = most > 0.0f ? which : IntVec{} + int(DEAD);
          most = most < 0.0f ? Vec{} : most;  // in this order NaN stays NaN
        }
        store(pooled + y * stride + x * conv.outputs + c, most);
        const ByteVec bytes = __builtin_convertvector(which, ByteVec);
        std::memcpy(choice + (y * conv.pooled_width() + x) * conv.outputs + c, &bytes, LANES);
      }
}

// One gradient that is left, and the place in a plane or in packed weights that it multiplies.
struct Entry {
  float value;
  int32_t place;
};

// Lists of the gradients of one image. `by_output` is [outputs][windows]; `by_window` has, for each
// window, one list for each of its `pool` pixel rows, [windows][pool][outputs].
struct Lists {
  Entry *by_output, *by_window;
  int32_t *output_counts, *window_counts;
};

// Floats in the slice of `pack_backward` that belong to one output and kernel row, in a chunk of `lanes`.
inline int64_t slice_row(const Convolution& conv, int64_t lanes) {
  return (conv.kernel + 2 * (conv.pool - 1)) * lanes;
}

// The widest chunk of input channels for which a row of pixels fits the registers.
inline int64_t chunk_lanes(const Convolution& conv) {
  const bool two = conv.channels % (2 * LANES) == 0 && 2 * (conv.kernel + conv.pool - 1) <= REGISTERS - 4;
  return two ? 2 * LANES : LANES;
}

// Sort the gradients of the pooled image (rows `stride` apart) into lists; add them up for the bias.
inline void collect(const Convolution& conv, const float* gradient, int64_t stride, const uint8_t* choice,
                    bool back, const Lists& lists, float* bias_gradient) {
  const int64_t windows = conv.windows(), lanes = chunk_lanes(conv), pool = conv.pool;
  int32_t places[DEAD + 1] = {}, shifts[DEAD + 1] = {};
  for (int64_t i = 0; i < DEAD; i++) {
    places[i] = int32_t((i / 2 * conv.width + i % 2) * conv.channels);
    // A pixel in the right column of the window reads the weights one pixel earlier: a zero comes first.
    shifts[i] = int32_t((pool - 1 - i % 2) * lanes);
  }
  std::memset(lists.output_counts, 0, conv.outputs * sizeof(int32_t));
  for (int64_t y = 0, window = 0; y < conv.pooled_height(); y++)
    for (int64_t x = 0; x < conv.pooled_width(); x++, window++) {
      const float* values = gradient + y * stride + x * conv.outputs;
      const uint8_t* choices = choice + window * conv.outputs;
      const int32_t corner = int32_t(y * pool * conv.row() + x * pool * conv.channels);
      // Every gradient is written, and the count decides whether it stays: no branch to mispredict.
      for (int64_t c = 0; c < conv.outputs; c++) {
        int32_t& count = lists.output_counts[c];
        lists.by_output[c * windows + count] = {values[c], corner + places[choices[c]]};
        count += choices[c] != DEAD;
        bias_gradient[c] += choices[c] != DEAD ? values[c] : 0.0f;
      }
      if (!back) continue;
      int32_t counts[2] = {0, 0};
      Entry* entries = lists.by_window + window * pool * conv.outputs;
      const int32_t slice = int32_t(slice_row(conv, lanes));
      for (int64_t c = 0; c < conv.outputs; c++) {
        const int64_t low = choices[c] >> 1 & 1;
        entries[low * conv.outputs + counts[low]] = {values[c], int32_t(c) * slice + shifts[choices[c]]};
        counts[low] += choices[c] != DEAD;
      }
      for (int64_t i = 0; i < pool; i++) lists.window_counts[window * pool + i] = counts[i];
    }
}

// Add to weight_gradient, [outputs][taps]: each gradient times the pixels that the kernel saw there.
inline void backward_weights(const Convolution& conv, const Lists& lists, const float* plane,
                             float* weight_gradient) {
  for (int64_t output = 0; output < conv.outputs; output++) {
    const Entry* entries = lists.by_output + output * conv.windows();
    const int64_t count = lists.output_counts[output], line = conv.kernel * conv.channels;
    for (int64_t k = 0; k < conv.kernel; k++)
      for_tiles<REGISTERS - 4 < 12 ? REGISTERS - 4 : 12>(line / LANES, [&](auto n, int64_t start) {
        constexpr int N = n.value;
        constexpr int CHAINS = N <= 4 ? 2 : 1;  // few sums would wait for each other
        const float* pixels = plane + k * conv.row() + start * LANES;
        float* target = weight_gradient + output * conv.taps() + k * line + start * LANES;
        Vec total[CHAINS][N] = {};
        int64_t e = 0;
        for (; e + CHAINS <= count; e += CHAINS)
#pragma GCC unroll 2
          for (int chain = 0; chain < CHAINS; chain++) {
            const Entry entry = entries[e + chain];
#pragma GCC unroll 12
            for (int i = 0; i < N; i++) total[chain][i] += entry.value * load(pixels + entry.place + i * LANES);
          }
        for (; e < count; e++)
          for (int i = 0; i < N; i++) total[0][i] += entries[e].value * load(pixels + entries[e].place + i * LANES);
        for (int i = 0; i < N; i++) {
          Vec all = load(target + i * LANES);
          for (int chain = 0; chain < CHAINS; chain++) all += total[chain][i];
          store(target + i * LANES, all);
        }
      });
  }
}

// Weights as `backward_pixels` reads them: [chunk of channels][kernel row][output][pixel][lane], with a
// pixel of zeros at both ends when a window is two pixels wide.
inline void pack_backward(const Convolution& conv, const float* weights, float* packed) {
  const int64_t lanes = chunk_lanes(conv), margin = (conv.pool - 1) * lanes, taps = conv.taps();
  for (int64_t channel = 0; channel < conv.channels; channel += lanes)
    for (int64_t k = 0; k < conv.kernel; k++)
      for (int64_t output = 0; output < conv.outputs; output++) {
        const float* from = weights + output * taps + k * conv.kernel * conv.channels + channel;
        for (int64_t pixel = 0; pixel < conv.kernel; pixel++)
          std::memcpy(packed + margin + pixel * lanes, from + pixel * conv.channels, lanes * sizeof(float));
        packed += slice_row(conv, lanes);
      }
}

// Add to back, the gradient of the padded input plane, which the caller has set to zero.
//
// The slice of the weights for one kernel row and one chunk of channels stays in the first-level cache
// while all windows pass by; the pixels of one row below a window are summed in registers.
template <int PIXELS, int V>
inline void backward_pixels_of(const Convolution& conv, const Lists& lists, const float* packed, float* back) {
  constexpr int64_t lanes = V * LANES;
  for (int64_t channel = 0; channel < conv.channels; channel += lanes)
    for (int64_t k = 0; k < conv.kernel; k++, packed += conv.outputs * slice_row(conv, lanes))
      for (int64_t window = 0; window < conv.windows(); window++)
        for (int64_t low = 0; low < conv.pool; low++) {
          const int64_t y = window / conv.pooled_width() * conv.pool + low + k;
          const int64_t x = window % conv.pooled_width() * conv.pool;
          float* target = back + y * conv.row() + x * conv.channels + channel;
          const Entry* entries = lists.by_window + (window * conv.pool + low) * conv.outputs;
          const int64_t count = lists.window_counts[window * conv.pool + low];
          Vec total[PIXELS][V];
          for (int i = 0; i < PIXELS; i++)
            for (int j = 0; j < V; j++) total[i][j] = load(target + i * conv.channels + j * LANES);
          for (int64_t e = 0; e < count; e++) {
            const Entry entry = entries[e];
#pragma GCC unroll 8
            for (int i = 0; i < PIXELS; i++)
#pragma GCC unroll 2
              for (int j = 0; j < V; j++)
                total[i][j] += entry.value * load(packed + entry.place + i * lanes + j * LANES);
          }
          for (int i = 0; i < PIXELS; i++)
            for (int j = 0; j < V; j++) store(target + i * conv.channels + j * LANES, total[i][j]);
        }
}

inline void backward_pixels(const Convolution& conv, const Lists& lists, const float* packed, float* back) {
  for_tiles<8>(conv.kernel + conv.pool - 1, [&](auto pixels, int64_t) {
    if (chunk_lanes(conv) == LANES) backward_pixels_of<pixels.value, 1>(conv, lists, packed, back);
    else backward_pixels_of<pixels.value, 2>(conv, lists, packed, back);
  });
}

}  // namespace flockwise
