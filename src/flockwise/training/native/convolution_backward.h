// The backward pass of a convolution with rectifier and 2x2 maximum, for one image.
//
// Behind a 2x2 maximum at most one gradient in four is not zero, and the rectifier stops more of them.
// So the kernels work on lists of the gradients that are left instead of on dense images.
#pragma once
#include <algorithm>
#include "convolution.h"
#include "lists.h"

namespace flockwise {

// Lists of the gradients of one image, for each output channel, padded(windows) apart, and for each pixel that
// a window may have chosen; the latter lie end to end, from pixel_starts[i] to pixel_starts[i + 1].
struct Lists {
  Entry *by_output, *by_pixel;
  int32_t *output_counts, *pixel_starts;

  // How many entries and numbers there must be room for; `append` writes whole vectors.
  static int64_t entries(const Convolution& conv) { return padded(conv.windows()) * conv.outputs + PAD; }
  static int64_t numbers(const Convolution& conv) {
    return conv.windows() * conv.pool * conv.pool + 1 + conv.outputs;
  }
  Entry* list(const Convolution& conv, int64_t output) const { return by_output + output * padded(conv.windows()); }
};

// The widest chunk of input channels for which the pixels below a row of a window fit the registers.
inline int64_t chunk_lanes(const Convolution& conv) {
  const bool two = conv.channels % (2 * LANES) == 0 && 2 * (conv.kernel + conv.pool - 1) <= REGISTERS - 4;
  return two ? 2 * LANES : LANES;
}

// What comes back to the windows of one image: gradients, rows of it `stride` apart, and the pixels they go to.
struct Returned {
  const float* gradient;
  int64_t stride;
  const uint8_t* choices;

  // Call visit(y, x, gradients, choices) for each window, with pointers to those of its first output.
  template <class Visit>
  inline void visit_windows(const Convolution& conv, Visit visit) const {
    const int64_t height = conv.pooled_height(), width = conv.pooled_width();
    const uint8_t* choice = choices;
    for (int64_t y = 0; y < height; y++)
      for (int64_t x = 0; x < width; x++, choice += conv.outputs)
        visit(y, x, gradient + y * stride + x * conv.outputs, choice);
  }
};

// Gradients lie window by window, with all outputs of each, and the lists are for one output: in squares of both they
// change places.
inline void collect_by_output(const Convolution& conv, const Returned& returned, const Lists& lists,
                              float* bias_gradient) {
  const int64_t across = conv.pool * conv.channels, down = conv.pool * conv.row();
  const IntVec right = IntVec{} + int32_t(conv.channels), below = IntVec{} + int32_t(conv.row());
  for (int64_t output = 0; output < conv.outputs; output += LANES) {
    Entry* ends[LANES];
    for (int i = 0; i < LANES; i++) ends[i] = lists.list(conv, output + i);
    Vec values[LANES] = {}, places[LANES], total = load(bias_gradient + output);
    int filled = 0;
    const auto sort = [&] {
      transpose(values);
      transpose(places);
      for (int i = 0; i < LANES; i++) ends[i] = append(ends[i], values[i], reinterpret_cast<IntVec>(places[i]));
      filled = 0;
    };
    returned.visit_windows(conv, [&](int64_t y, int64_t x, const float* gradients, const uint8_t* choices) {
      const Vec value = load(gradients + output);
      const IntVec choice = load_bytes(choices + output), dead = choice == int(DEAD);
      const IntVec chosen = ((choice & 1) != 0 ? right : IntVec{}) + ((choice & 2) != 0 ? below : IntVec{});
      total += dead ? Vec{} : value;
      values[filled] = value;
      places[filled++] = reinterpret_cast<Vec>(dead | (chosen + int32_t(y * down + x * across)));  // -1 if it is dead
      if (filled == LANES) sort();
    });
    while (filled % LANES) places[filled++] = reinterpret_cast<Vec>(IntVec{} - 1);
    if (filled) sort();
    store(bias_gradient + output, total);
    for (int i = 0; i < LANES; i++)
      lists.output_counts[output + i] = int32_t(ends[i] - lists.list(conv, output + i));
  }
}

inline void collect_by_pixel(const Convolution& conv, const Returned& returned, const Lists& lists) {
  const int32_t slice = int32_t(conv.kernel * chunk_lanes(conv)), pixels = int32_t(conv.pool * conv.pool);
  IntVec slices;
  for (int i = 0; i < LANES; i++) slices[i] = i * slice;
  Entry* target = lists.by_pixel;
  int32_t* start = lists.pixel_starts;
  *start = 0;
  returned.visit_windows(conv, [&](int64_t, int64_t, const float* gradients, const uint8_t* choices) {
    for (int32_t pixel = 0; pixel < pixels; pixel++) {
      for (int64_t output = 0; output < conv.outputs; output += LANES) {
        const IntVec chosen = load_bytes(choices + output) == pixel;
        target = append(target, load(gradients + output), chosen ? slices + int32_t(output) * slice : IntVec{} - 1);
      }
      *++start = int32_t(target - lists.by_pixel);
    }
  });
}

// Sort the gradients of the pooled image (rows `stride` apart) into lists; add them up for the bias.
inline void collect(const Convolution& conv, const float* gradient, int64_t stride, const uint8_t* choice,
                    bool back, const Lists& lists, float* bias_gradient) {
  const Returned returned{gradient, stride, choice};
  collect_by_output(conv, returned, lists, bias_gradient);
  if (back) collect_by_pixel(conv, returned, lists);
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
template <int N, int V, class Of = Vec>
inline void backward_weights_of(const Convolution& conv, const Lists& lists, const float* plane, int64_t piece,
                                float* targets, int64_t target_piece, int64_t rows) {
  constexpr int CHAINS = N * V <= 6 ? 2 : 1;  // few sums would wait for each other
  for (int64_t output = 0; output < conv.outputs; output++) {
    const Entry *first = lists.list(conv, output), *end = first + lists.output_counts[output];
    for (int64_t k = 0; k < rows; k++) {
      const float* pixels = plane + k * conv.row();
      Tile<N, V, Of> total[CHAINS];
      const auto add = [&](Tile<N, V, Of>& sums, const Entry& entry) {
        const float* from = pixels + entry.place;
        const float value = entry.value;
#pragma GCC unroll 8
        for (int i = 0; i < N; i++, from += piece) {
          asm("" : "+r"(from));  // one pointer that moves on, not one index for each vector
#pragma GCC unroll 12
          for (int j = 0; j < V; j++) sums.at[i][j] += value * load_as<Of>(from + j * sums.WIDE);
        }
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
// too much goes to the padding of the weights, which nothing reads. Such vectors start anywhere, and half of one is less
// often in two lines of the cache.
inline void backward_weights_narrow(const Convolution& conv, const Lists& lists, const float* plane, float* gradient) {
  if (conv.depth() <= LANES / 2)
    return for_tiles<7>(conv.kernel, [&](auto rows, int64_t k) {
      backward_weights_of<rows.value, 1, HalfVec>(conv, lists, plane + k * conv.row(), conv.row(),
                                                  gradient + k * conv.kernel_row(), conv.kernel_row(), 1);
    });
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
// The slice of the weights for one kernel row and one chunk of channels stays in a fast cache while all windows
// pass by. The pixels of a window's row add to the same sums, each one further right, and those of the next window to
// most of them again: along a line the sums stay in registers and move on, and only what is done goes to memory.
template <int PIXELS, int V, int POOL>
inline void backward_pixels_of(const Convolution& conv, const Lists& lists, const float* packed, float* back) {
  constexpr int64_t lanes = V * LANES;
  constexpr int SUMS = PIXELS + POOL - 1, SHARED = PIXELS - 1;  // pixels below a window, and of them below the next one
  const auto line = [&](const int32_t* start, float* target) {
    Tile<SUMS, V> total;
    const auto at = [&](int p, int v) { return target + p * conv.channels + v * LANES; };
    total.template rows<0, SHARED>([&](int p, int v) { return load(at(p, v)); });
    for (int64_t x = 0; x < conv.pooled_width(); x++, start += POOL * POOL, target += POOL * conv.channels) {
      total.template rows<SHARED, SUMS>([&](int p, int v) { return load(at(p, v)); });
      const Entry* entry = lists.by_pixel + start[0];
      const auto add_list = [&](auto shift) {
        for (const Entry* end = lists.by_pixel + start[shift.value + 1]; entry < end; entry++) {
          const Entry one = *entry;
#pragma GCC unroll 8
          for (int p = 0; p < PIXELS; p++)
#pragma GCC unroll 2
            for (int v = 0; v < V; v++)
              total.at[p + shift.value][v] += one.value * load(packed + one.place + p * lanes + v * LANES);
        }
      };
      add_list(Size<0>{});
      if constexpr (POOL == 2) add_list(Size<1>{});
#pragma GCC unroll 2
      for (int p = 0; p < POOL; p++)
#pragma GCC unroll 2
        for (int v = 0; v < V; v++) store(at(p, v), total.at[p][v]);
      total.template rows<0, SHARED>([&](int p, int v) { return total.at[p + POOL][v]; });
    }
#pragma GCC unroll 8
    for (int p = 0; p < SHARED; p++)
#pragma GCC unroll 2
      for (int v = 0; v < V; v++) store(at(p, v), total.at[p][v]);
  };
  for (int64_t channel = 0; channel < conv.channels; channel += lanes)
    for (int64_t k = 0; k < conv.kernel; k++, packed += conv.outputs * PIXELS * lanes)
      for (int64_t y = 0; y < conv.pooled_height(); y++)
        for (int64_t down = 0; down < POOL; down++)
          line(lists.pixel_starts + (y * conv.pooled_width() * POOL + down) * POOL,
               back + (y * POOL + down + k) * conv.row() + channel);
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
