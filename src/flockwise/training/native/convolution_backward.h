// The backward pass of a convolution with rectifier and 2x2 maximum, for one image.
//
// Behind a 2x2 maximum at most one gradient in four is not zero, and the rectifier stops more of them.
// So the kernels work on lists of the gradients that are left instead of on dense images.
#pragma once
#include <algorithm>
#include "convolution.h"
#include "lists.h"

namespace flockwise {

// Lists of the gradients of one image, for each output channel, [outputs][windows], and for each pixel that
// a window may have chosen; the latter lie end to end, from pixel_starts[i] to pixel_starts[i + 1].
struct Lists {
  Entry *by_output, *by_pixel;
  int32_t *output_counts, *pixel_starts;

  // How many entries and numbers there must be room for.
  static int64_t entries(const Convolution& conv) { return (conv.windows() + conv.pool * conv.pool) * conv.outputs; }
  static int64_t numbers(const Convolution& conv) {
    return conv.windows() * conv.pool * conv.pool + 1 + conv.outputs;
  }
};

// The widest chunk of input channels for which the pixels below a row of a window fit the registers.
inline int64_t chunk_lanes(const Convolution& conv) {
  const bool two = conv.channels % (2 * LANES) == 0 && 2 * (conv.kernel + conv.pool - 1) <= REGISTERS - 4;
  return two ? 2 * LANES : LANES;
}

template <int AREA>
inline void collect_by_pixel(const Convolution& conv, const float* gradient, int64_t stride,
                             const uint8_t* choice, const Lists& lists) {
  const int64_t across = conv.pooled_width(), outputs = conv.outputs, slice = conv.kernel * chunk_lanes(conv);
  Entry *const room = lists.by_pixel + conv.windows() * outputs, *target = lists.by_pixel;
  int32_t* start = lists.pixel_starts;
  *start = 0;
  for (int64_t window = 0; window < conv.windows(); window++) {
    const float* values = gradient + window / across * stride + window % across * outputs;
    const uint8_t* choices = choice + window * outputs;
    Entry* ends[AREA];
    for (int i = 0; i < AREA; i++) ends[i] = room + i * outputs;
    for (int64_t c = 0; c < outputs; c++)
#pragma GCC unroll 4
      for (int i = 0; i < AREA; i++) {
        write(ends[i], values + c, int32_t(c * slice));
        ends[i] += choices[c] == i;
      }
    for (int i = 0; i < AREA; i++) {
      target = std::copy(room + i * outputs, ends[i], target);
      *++start = int32_t(target - lists.by_pixel);
    }
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
  }
  for (int64_t c = 0; c < conv.outputs; c += LANES) {
    Vec total = load(bias_gradient + c);
    const uint8_t* which = choice + c;
    for (int64_t y = 0; y < conv.pooled_height(); y++)
      for (int64_t x = 0; x < across; x++, which += conv.outputs)
        total += load_bytes(which) == int(DEAD) ? Vec{} : load(gradient + y * stride + x * conv.outputs + c);
    store(bias_gradient + c, total);
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

// Add to a part of the weights' gradient, [outputs][taps]: each gradient times the pixels that the kernel saw.
//
// The part is N pieces of V vectors, `piece` apart in the plane and `target_piece` in the weights, and the same
// for so many kernel rows.
template <int N, int V>
inline void backward_weights_of(const Convolution& conv, const Lists& lists, const float* plane, int64_t piece,
                                float* targets, int64_t target_piece, int64_t rows) {
  constexpr int CHAINS = N * V <= 6 ? 2 : 1;  // few sums would wait for each other
  for (int64_t output = 0; output < conv.outputs; output++) {
    const Entry *first = lists.by_output + output * conv.windows(), *end = first + lists.output_counts[output];
    for (int64_t k = 0; k < rows; k++) {
      const float* pixels = plane + k * conv.row();
      Tile<N, V> total[CHAINS];
      const auto add = [&](Tile<N, V>& sums, const Entry& entry) {
#pragma GCC unroll 8
        for (int i = 0; i < N; i++)
#pragma GCC unroll 12
          for (int j = 0; j < V; j++)
            sums.at[i][j] += entry.value * load(pixels + entry.place + i * piece + j * LANES);
      };
      float* target = targets + output * conv.taps() + k * conv.kernel_row();
      total[0].load_from(target, target_piece);
      const Entry* entry = first;
      if constexpr (CHAINS == 2) total[1].clear();
      for (; entry + 4 <= end; entry += 4)  // fewer turns, whose number is easier to predict
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) add(total[i % CHAINS], entry[i]);
      for (; entry < end; entry++) add(total[0], *entry);
      if constexpr (CHAINS == 2) total[0].fill([&](int i, int j) { return total[0].at[i][j] + total[1].at[i][j]; });
      total[0].store_to(target, target_piece);
    }
  }
}

// Pictures have few channels: the pixels of a kernel row are read together, as vectors. What the last vector has
// too much goes to the padding of the weights, which nothing reads.
inline void backward_weights_narrow(const Convolution& conv, const Lists& lists, const float* plane, float* gradient) {
  for_tiles<4>((conv.depth() + LANES - 1) / LANES, [&](auto v, int64_t vector) {
    constexpr int V = v.value, ROWS = 12 / V < 7 ? 12 / V : 7;
    for_tiles<ROWS>(conv.kernel, [&](auto rows, int64_t k) {
      backward_weights_of<rows.value, V>(conv, lists, plane + k * conv.row() + vector * LANES, conv.row(),
                                         gradient + k * conv.kernel_row() + vector * LANES, conv.kernel_row(), 1);
    });
  });
}

inline void backward_weights(const Convolution& conv, const Lists& lists, const float* plane, float* gradient) {
  if (conv.channels % PAD) return backward_weights_narrow(conv, lists, plane, gradient);
  if (conv.kernel == 1)
    for_tiles<REGISTERS - 4 < 12 ? REGISTERS - 4 : 12>(conv.channels / LANES, [&](auto v, int64_t start) {
      const int64_t channel = start * LANES;
      backward_weights_of<1, v.value>(conv, lists, plane + channel, 0, gradient + channel, 0, 1);
    });
  else  // some channels at a time, so that the part of the plane that is read stays in the first-level cache
    with_kernel(conv.kernel, [&](auto pixels) {
      const auto add = [&](auto v, int64_t channel) {
        backward_weights_of<pixels.value, v.value>(conv, lists, plane + channel, conv.channels, gradient + channel,
                                                   conv.channels, conv.kernel);
      };
      for (int64_t channel = 0; channel < conv.channels; channel += chunk_lanes(conv))
        if (chunk_lanes(conv) == LANES) add(Size<1>{}, channel);
        else add(Size<2>{}, channel);
    });
}

// Weights as `backward_pixels` reads them: [chunk of channels][kernel row][output][pixel][lane].
inline void pack_backward(const Convolution& conv, const float* weights, float* packed) {
  const int64_t lanes = chunk_lanes(conv);
  for (int64_t channel = 0; channel < conv.channels; channel += lanes)
    for (int64_t k = 0; k < conv.kernel; k++)
      for (int64_t output = 0; output < conv.outputs; output++) {
        const float* from = weights + output * conv.taps() + k * conv.kernel_row() + channel;
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
              const Entry* entry = lists.by_pixel + lists.pixel_starts[pixel];
              for (const Entry* end = lists.by_pixel + lists.pixel_starts[pixel + 1]; entry < end; entry++) {
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
