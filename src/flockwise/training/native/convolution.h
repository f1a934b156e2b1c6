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
  int64_t pooled_height() const { return out_height() / pool; }
  int64_t pooled_width() const { return out_width() / pool; }
  int64_t windows() const { return pooled_height() * pooled_width(); }
  int64_t depth() const { return kernel * channels; }        // products that one kernel row sums up
  int64_t kernel_row() const { return padded(depth()); }     // the same in the weights, with padding
  int64_t taps() const { return kernel * kernel_row(); }
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

// Results of `rows` rows, [rows][out_width][outputs], before rectifier and maximum.
inline void forward(const Convolution& conv, const float* packed, const float* bias, const float* plane,
                    int64_t rows, float* result) {
  // The rows of a 1x1 kernel follow each other without a gap: treat them as one.
  const bool one_row = conv.kernel == 1;
  const int64_t height = one_row ? 1 : rows, width = one_row ? rows * conv.width : conv.out_width();
  for_columns(conv.outputs, [&](auto v, int64_t output) {
    for (int64_t y = 0; y < height; y++)
      for_tiles<TILE_ROWS>(width, [&](auto r, int64_t x) {
        constexpr int R = r.value, V = v.value;
        Tile<R, V> total;
        total.load_from(bias + output, 0);
        for (int64_t k = 0; k < conv.kernel; k++) {
          const float* taps = packed + k * conv.kernel_row() * conv.outputs + output;
          multiply(total, plane + (y + k) * conv.row() + x * conv.channels, conv.channels, conv.depth(),
                   [&](int64_t tap) { return taps + tap * conv.outputs; });
        }
        total.store_to(result + (y * width + x) * conv.outputs + output, conv.outputs);
      });
  });
}

// Where maxima go, rows `stride` apart, and which pixel of its window each came from.
struct Pooled {
  float* values;
  int64_t stride;
  uint8_t* choices;  // [pooled_height][pooled_width][outputs]
};

// Rectifier and maximum of the window at (y, x), whose pixel i is pixel(i), for a vector of outputs.
template <class Pixel>
inline void pool_window(const Convolution& conv, const Pooled& pooled, int64_t y, int64_t x, int64_t output,
                        Pixel pixel) {
  Vec most = pixel(0);
  IntVec which = {};
  if (conv.pool == 2)
#pragma GCC unroll 3
    for (int i = 1; i < 4; i++) {
      const Vec other = pixel(i);
      const IntVec more = other > most;  // the first of equals wins, as in torch
      most = more ? other : most;
      which = more ? IntVec{} + i : which;
    }
  if (conv.relu) {
    which = most > 0.0f ? which : IntVec{} + int(DEAD);
    most = most < 0.0f ? Vec{} : most;  // in this order NaN stays NaN
  }
  store(pooled.values + y * pooled.stride + x * conv.outputs + output, most);
  store_bytes(pooled.choices + (y * conv.pooled_width() + x) * conv.outputs + output, which);
}

// `forward` and `pool_window` for a whole image; result is room for [out_height][out_width][outputs].
inline void forward_pooled(const Convolution& conv, const float* packed, const float* bias, const float* plane,
                           float* result, const Pooled& pooled) {
  // Few weights stay in the first-level cache, and so do the rows of one row of windows; many weights are
  // better read once for the whole image.
  const bool few = conv.taps() * conv.outputs <= 4096;
  const int64_t line = conv.out_width() * conv.outputs, strip = few ? 1 : conv.pooled_height();
  for (int64_t first = 0; first < conv.pooled_height(); first += strip) {
    forward(conv, packed, bias, plane + first * conv.pool * conv.row(), strip * conv.pool, result);
    for (int64_t y = 0; y < strip; y++)
      for (int64_t x = 0; x < conv.pooled_width(); x++)
        for (int64_t output = 0; output < conv.outputs; output += LANES) {
          const float* corner = result + y * conv.pool * line + x * conv.pool * conv.outputs + output;
          pool_window(conv, pooled, first + y, x, output,
                      [&](int i) { return load(corner + i / 2 * line + i % 2 * conv.outputs); });
        }
  }
}

}  // namespace flockwise
