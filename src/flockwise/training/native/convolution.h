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
        Tile<R, V> total;
        total.load_from(bias + output, 0);
        for (int64_t k = 0; k < conv.kernel; k++) {
          const float* taps = packed + k * conv.kernel * conv.channels * conv.outputs + output;
          multiply(total, plane + (y + k) * conv.row() + x * conv.channels, conv.channels, conv.depth,
                   [&](int64_t tap) { return taps + tap * conv.outputs; });
        }
        total.store_to(result + (y * width + x) * conv.outputs + output, conv.outputs);
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

// Write both halves at once, without the way through a float register (little-endian machines only).
inline void write(Entry* entry, const float* value, int32_t place) {
  uint32_t bits;
  std::memcpy(&bits, value, sizeof bits);
  const uint64_t both = bits | uint64_t(uint32_t(place)) << 32;
  std::memcpy(static_cast<void*>(entry), &both, sizeof both);
}

// Lists of the gradients of one image, for each output channel, [outputs][windows], and for each pixel that
// a window may have chosen, [windows][pool * pool][outputs].
struct Lists {
  Entry *by_output, *by_pixel;
  int32_t *output_counts, *pixel_counts;
};

// The widest chunk of input channels for which the pixels below a row of a window fit the registers.
inline int64_t chunk_lanes(const Convolution& conv) {
  const bool two = conv.channels % (2 * LANES) == 0 && 2 * (conv.kernel + conv.pool - 1) <= REGISTERS - 4;
  return two ? 2 * LANES : LANES;
}

template <int AREA>
inline void collect_by_pixel(const Convolution& conv, const float* gradient, int64_t stride,
                             const uint8_t* choice, const Lists& lists) {
  const int64_t across = conv.pooled_width(), slice = conv.kernel * chunk_lanes(conv);
  for (int64_t window = 0; window < conv.windows(); window++) {
    const float* values = gradient + window / across * stride + window % across * conv.outputs;
    const uint8_t* choices = choice + window * conv.outputs;
    Entry *const first = lists.by_pixel + window * AREA * conv.outputs, *ends[AREA];
    for (int i = 0; i < AREA; i++) ends[i] = first + i * conv.outputs;
    for (int64_t c = 0; c < conv.outputs; c++)
#pragma GCC unroll 4
      for (int i = 0; i < AREA; i++) {
        write(ends[i], values + c, int32_t(c * slice));
        ends[i] += choices[c] == i;
      }
    for (int i = 0; i < AREA; i++)
      lists.pixel_counts[window * AREA + i] = int32_t(ends[i] - first - i * conv.outputs);
  }
}

// Sort the gradients of the pooled image (rows `stride` apart) into lists; add them up for the bias.
//
// Every gradient is written, and the count decides whether it stays: no branch to mispredict.
inline void collect(const Convolution& conv, const float* gradient, int64_t stride, const uint8_t* choice,
                    bool back, const Lists& lists, float* bias_gradient) {
  const int64_t pool = conv.pool, across = conv.pooled_width();
  int32_t places[DEAD + 1] = {};
  for (int64_t i = 0; i < DEAD; i++) places[i] = int32_t((i / 2 * conv.width + i % 2) * conv.channels);
  for (int64_t c = 0; c < conv.outputs; c++) {
    Entry* const start = lists.by_output + c * conv.windows();
    Entry* entry = start;
    const uint8_t* which = choice + c;
    for (int64_t y = 0; y < conv.pooled_height(); y++) {
      const float* value = gradient + y * stride + c;
      int32_t corner = int32_t(y * pool * conv.row());
      for (int64_t x = 0; x < across; x++) {
        write(entry, value, corner + places[*which]);
        entry += *which != DEAD;
        value += conv.outputs;
        which += conv.outputs;
        corner += int32_t(pool * conv.channels);
      }
    }
    lists.output_counts[c] = int32_t(entry - start);
    float total = 0;
    for (const Entry* e = start; e < entry; e++) total += e->value;
    bias_gradient[c] += total;
  }
  if (back && pool == 1) collect_by_pixel<1>(conv, gradient, stride, choice, lists);
  if (back && pool == 2) collect_by_pixel<4>(conv, gradient, stride, choice, lists);
}

// Call body(Size<kernel>) for the kernels that there are.
template <class Body>
inline void with_kernel(int64_t kernel, Body body) {
  if (kernel == 1) body(Size<1>{});
  if (kernel == 3) body(Size<3>{});
  if (kernel == 5) body(Size<5>{});
  if (kernel == 7) body(Size<7>{});
}

// Add to weight_gradient, [outputs][taps]: each gradient times the pixels that the kernel saw there.
//
// V vectors of channels at a time, so that the part of the plane that is read stays in the first-level cache.
template <int PIXELS, int V>
inline void backward_weights_of(const Convolution& conv, const Lists& lists, const float* plane,
                                float* weight_gradient, int64_t channel) {
  constexpr int CHAINS = PIXELS * V <= 6 ? 2 : 1;  // few sums would wait for each other
  for (int64_t output = 0; output < conv.outputs; output++) {
    const Entry *first = lists.by_output + output * conv.windows(), *end = first + lists.output_counts[output];
    for (int64_t k = 0; k < conv.kernel; k++) {
      const float* pixels = plane + k * conv.row() + channel;
      Tile<PIXELS, V> total[CHAINS];
      const auto add = [&](Tile<PIXELS, V>& sums, const Entry& entry) {
#pragma GCC unroll 8
        for (int i = 0; i < PIXELS; i++)
#pragma GCC unroll 12
          for (int j = 0; j < V; j++)
            sums.at[i][j] += entry.value * load(pixels + entry.place + i * conv.channels + j * LANES);
      };
      float* target = weight_gradient + output * conv.taps() + k * conv.kernel * conv.channels + channel;
      total[0].load_from(target, conv.channels);
      const Entry* entry = first;
      if constexpr (CHAINS == 2) {
        total[1].clear();
        for (; entry + 2 <= end; entry += 2) {
          add(total[0], entry[0]);
          add(total[1], entry[1]);
        }
      }
      for (; entry < end; entry++) add(total[0], *entry);
      if constexpr (CHAINS == 2) total[0].fill([&](int i, int j) { return total[0].at[i][j] + total[1].at[i][j]; });
      total[0].store_to(target, conv.channels);
    }
  }
}

inline void backward_weights(const Convolution& conv, const Lists& lists, const float* plane, float* gradient) {
  if (conv.kernel == 1)
    for_tiles<REGISTERS - 4 < 12 ? REGISTERS - 4 : 12>(conv.channels / LANES, [&](auto v, int64_t start) {
      backward_weights_of<1, v.value>(conv, lists, plane, gradient, start * LANES);
    });
  else
    with_kernel(conv.kernel, [&](auto pixels) {
      for (int64_t channel = 0; channel < conv.channels; channel += chunk_lanes(conv))
        if (chunk_lanes(conv) == LANES)
          backward_weights_of<pixels.value, 1>(conv, lists, plane, gradient, channel);
        else
          backward_weights_of<pixels.value, 2>(conv, lists, plane, gradient, channel);
    });
}

// Weights as `backward_pixels` reads them: [chunk of channels][kernel row][output][pixel][lane].
inline void pack_backward(const Convolution& conv, const float* weights, float* packed) {
  const int64_t lanes = chunk_lanes(conv);
  for (int64_t channel = 0; channel < conv.channels; channel += lanes)
    for (int64_t k = 0; k < conv.kernel; k++)
      for (int64_t output = 0; output < conv.outputs; output++) {
        const float* from = weights + output * conv.taps() + k * conv.kernel * conv.channels + channel;
        for (int64_t pixel = 0; pixel < conv.kernel; pixel++, packed += lanes)
          for (int64_t lane = 0; lane < lanes; lane += LANES)
            store(packed + lane, load(from + pixel * conv.channels + lane));
      }
}

// Add to back, the gradient of the padded input plane, which the caller has set to zero.
//
// The slice of the weights for one kernel row and one chunk of channels stays in the first-level cache
// while all windows pass by. The pixels of a window's row add to the same sums, each one further right.
template <int PIXELS, int V, int POOL>
inline void backward_pixels_of(const Convolution& conv, const Lists& lists, const float* packed, float* back) {
  constexpr int64_t lanes = V * LANES;
  for (int64_t channel = 0; channel < conv.channels; channel += lanes)
    for (int64_t k = 0; k < conv.kernel; k++, packed += conv.outputs * PIXELS * lanes)
      for (int64_t y = 0, pixel = 0; y < conv.pooled_height(); y++)
        for (int64_t x = 0; x < conv.pooled_width(); x++)
          for (int64_t line = 0; line < POOL; line++) {
            float* target = back + (y * POOL + line + k) * conv.row() + x * POOL * conv.channels + channel;
            Tile<PIXELS + POOL - 1, V> total;
            total.load_from(target, conv.channels);
            const auto add_list = [&](auto shift) {
              const Entry* entry = lists.by_pixel + pixel * conv.outputs;
              for (const Entry* end = entry + lists.pixel_counts[pixel]; entry < end; entry++) {
                const Entry one = *entry;
#pragma GCC unroll 8
                for (int p = 0; p < PIXELS; p++)
#pragma GCC unroll 2
                  for (int v = 0; v < V; v++)
                    total.at[p + shift.value][v] += one.value * load(packed + one.place + p * lanes + v * LANES);
              }
              pixel++;
            };
            add_list(Size<0>{});
            if constexpr (POOL == 2) add_list(Size<1>{});
            total.store_to(target, conv.channels);
          }
}

inline void backward_pixels(const Convolution& conv, const Lists& lists, const float* packed, float* back) {
  const auto with_pool = [&](auto pixels, auto v) {
    if (conv.pool == 1) backward_pixels_of<pixels.value, v.value, 1>(conv, lists, packed, back);
    else backward_pixels_of<pixels.value, v.value, 2>(conv, lists, packed, back);
  };
  with_kernel(conv.kernel, [&](auto pixels) {
    if (chunk_lanes(conv) == LANES) with_pool(pixels, Size<1>{});
    else with_pool(pixels, Size<2>{});
  });
}

}  // namespace flockwise
