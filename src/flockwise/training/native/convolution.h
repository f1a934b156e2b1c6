// Convolution, rectifier and 2x2 maximum of one image, with the channels last.
#pragma once
#include "vectors.h"

namespace flockwise {

struct Convolution {
  int64_t channels, height, width;  // of the input plane, padding included; channels padded to PAD if there
                                    // is a layer before this one
  int64_t kernel, outputs;          // outputs padded to PAD
  int64_t pool;                     // 1 or 2
  int64_t weight, bias;             // where they start among the parameters; weights are [outputs][taps()]
  bool relu;

  int64_t row() const { return width * channels; }
  int64_t plane() const { return height * row(); }
  int64_t out_height() const { return height - kernel + 1; }
  int64_t out_width() const { return width - kernel + 1; }
  int64_t pooled_height() const { return out_height() >> (pool - 1); }  // a division takes longer
  int64_t pooled_width() const { return out_width() >> (pool - 1); }
  int64_t windows() const { return pooled_height() * pooled_width(); }
  int64_t depth() const { return kernel * channels; }        // products that one kernel row sums up
  int64_t kernel_row() const { return padded(depth()); }     // the same in the weights, with padding
  int64_t taps() const { return kernel * kernel_row(); }
};

constexpr uint8_t DEAD = 4;  // the choice of a window whose maximum the rectifier stops

// Weights by tap instead of by output, [taps][outputs], which the forward kernels start from.
inline void pack_forward(const Convolution& conv, const float* weights, float* packed) {
  const int64_t taps = conv.taps();
  for (int64_t tap = 0; tap < taps; tap += LANES)
    for (int64_t output = 0; output < conv.outputs; output += LANES) {
      Vec square[LANES];
#pragma GCC unroll 16
      for (int i = 0; i < LANES; i++) square[i] = load(weights + (output + i) * taps + tap);
      transpose(square);
#pragma GCC unroll 16
      for (int i = 0; i < LANES; i++) store(packed + (tap + i) * conv.outputs + output, square[i]);
    }
}

// Where the maxima of an image go, rows `stride` apart.
struct Maxima {
  float* values;
  int64_t stride;

  // Rectifier and maximum of the window at (y, x), whose pixel i is pixel(i), for a vector of outputs.
  template <class Pixel>
  FLOCKWISE_INLINE void put(const Convolution& conv, int64_t y, int64_t x, int64_t output, Pixel pixel) const {
    Vec most = pixel(0);
    if (conv.pool == 2)
#pragma GCC unroll 3
      for (int i = 1; i < 4; i++) {
        const Vec other = pixel(i);
        most = (other > most) | (other != other) ? other : most;  // NaN wins, as in torch
      }
    if (conv.relu) most = most < 0.0f ? Vec{} : most;  // in this order NaN stays NaN
    store(values + y * stride + x * conv.outputs + output, most);
  }
};

// The same for training, which has to know which pixel of its window each came from.
struct ChosenMaxima {
  float* values;
  int64_t stride;
  uint8_t* choices;  // [pooled_height][pooled_width][outputs]

  template <class Pixel>
  FLOCKWISE_INLINE void put(const Convolution& conv, int64_t y, int64_t x, int64_t output, Pixel pixel) const {
    Vec most = pixel(0);
    IntVec which = {};
    if (conv.pool == 2)
#pragma GCC unroll 3
      for (int i = 1; i < 4; i++) {
        const Vec other = pixel(i);
        const IntVec more = (other > most) | (other != other);  // the first of equals wins, or NaN, as in torch
        most = more ? other : most;
        which = more ? IntVec{} + i : which;
      }
    if (conv.relu) {
      which = most <= 0.0f ? IntVec{} + int(DEAD) : which;
      most = most < 0.0f ? Vec{} : most;  // in this order NaN stays NaN
    }
    store(values + y * stride + x * conv.outputs + output, most);
    store_bytes(choices + (y * conv.pooled_width() + x) * conv.outputs + output, which);
  }
};

}  // namespace flockwise
