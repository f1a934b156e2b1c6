// Convolution by Winograd's minimal filtering (Lavin and Gray, CVPR 2016), in tiles of 4x4 results.
//
// A 3x3 kernel takes 36 products for them instead of 144, with the points 0, 1, -1, 2, -2 and infinity; a 5x5 kernel
// 64 instead of 400, with 1/2 and -1/2 besides. In training the weights change with every batch and are transformed
// anew each time, which costs little.
#pragma once
#include <algorithm>
#include "convolution.h"

namespace flockwise {

// The three one-dimensional transforms, of from(0), from(1), ... to to(0, value), to(1, value), ...
struct SixPoints {
  static constexpr int KERNEL = 3, POINTS = 6;

  template <class From, class To>
  static FLOCKWISE_INLINE void weights(From from, To to) {
    const Vec even = from(0) + from(2), even2 = from(0) + 4.0f * from(2), odd = from(1), odd2 = 2.0f * from(1);
    to(0, from(0) * 0.25f);
    to(1, (even + odd) * (-1.0f / 6));
    to(2, (even - odd) * (-1.0f / 6));
    to(3, (even2 + odd2) * (1.0f / 24));
    to(4, (even2 - odd2) * (1.0f / 24));
    to(5, from(2));
  }
  template <class From, class To>
  static FLOCKWISE_INLINE void pixels(From from, To to) {
    const Vec d1 = from(1), d2 = from(2), d3 = from(3), d4 = from(4);
    const Vec near_even = d4 - 4.0f * d2, near_odd = d3 - 4.0f * d1, far_even = d4 - d2, far_odd = 2.0f * (d3 - d1);
    to(0, 4.0f * from(0) - 5.0f * d2 + d4);
    to(1, near_even + near_odd);
    to(2, near_even - near_odd);
    to(3, far_even + far_odd);
    to(4, far_even - far_odd);
    to(5, 4.0f * d1 - 5.0f * d3 + from(5));
  }
  template <class From, class To>
  static FLOCKWISE_INLINE void products(From from, To to) {
    const Vec m1 = from(1), m2 = from(2), m3 = from(3), m4 = from(4);
    const Vec sum = m1 + m2, difference = m1 - m2, sum2 = m3 + m4, difference2 = m3 - m4;
    to(0, from(0) + sum + sum2);
    to(1, difference + 2.0f * difference2);
    to(2, sum + 4.0f * sum2);
    to(3, difference + 8.0f * difference2 + from(5));
  }
};

struct EightPoints {
  static constexpr int KERNEL = 5, POINTS = 8;

  template <class From, class To>
  static FLOCKWISE_INLINE void weights(From from, To to) {
    const auto both = [&](int index, float point, float scale) {
      const float square = point * point;
      const Vec even = from(0) + square * (from(2) + square * from(4)), odd = point * (from(1) + square * from(3));
      to(index, (even + odd) * scale);
      to(index + 1, (even - odd) * scale);
    };
    to(0, from(0));
    both(1, 1, -2.0f / 9);
    both(3, 2, 1.0f / 90);
    both(5, 0.5f, 32.0f / 45);
    to(7, from(4));
  }
  template <class From, class To>
  static FLOCKWISE_INLINE void pixels(From from, To to) {
    const Vec d1 = from(1), d2 = from(2), d3 = from(3), d4 = from(4), d5 = from(5), d6 = from(6);
    const auto both = [&](int index, Vec even, Vec odd) {
      to(index, even + odd);
      to(index + 1, even - odd);
    };
    to(0, from(0) - d6 + 5.25f * (d4 - d2));
    both(1, d2 + d6 - 4.25f * d4, d1 + d5 - 4.25f * d3);
    both(3, d6 + 0.25f * d2 - 1.25f * d4, 0.5f * d1 - 2.5f * d3 + 2.0f * d5);
    both(5, d6 + 4.0f * d2 - 5.0f * d4, 2.0f * d1 - 2.5f * d3 + 0.5f * d5);
    to(7, from(7) - d1 + 5.25f * (d3 - d5));
  }
  template <class From, class To>
  static FLOCKWISE_INLINE void products(From from, To to) {
    const Vec m1 = from(1), m2 = from(2), m3 = from(3), m4 = from(4), m5 = from(5), m6 = from(6);
    const Vec sum = m1 + m2, sum2 = m3 + m4, half = m5 + m6;
    const Vec difference = m1 - m2, difference2 = m3 - m4, half_difference = m5 - m6;
    to(0, from(0) + sum + sum2 + half);
    to(1, difference + 2.0f * difference2 + 0.5f * half_difference);
    to(2, sum + 4.0f * sum2 + 0.25f * half);
    to(3, difference + 8.0f * difference2 + 0.125f * half_difference + from(7));
  }
};

// transform(from, to) of the columns, then of the rows, of FROM x FROM vectors; gives TO x TO.
template <int FROM, int TO, class Transform, class From, class To>
FLOCKWISE_INLINE void transform_square(Transform transform, From from, To to) {
  Vec columns[TO * FROM];
#pragma GCC unroll 8
  for (int j = 0; j < FROM; j++)
    transform([&](int i) { return from(i, j); }, [&](int i, Vec value) { columns[i * FROM + j] = value; });
#pragma GCC unroll 8
  for (int i = 0; i < TO; i++)
    transform([&](int j) { return columns[i * FROM + j]; }, [&](int j, Vec value) { to(i, j, value); });
}

// The interface is that of `Direct`.
template <class Points>
class Winograd {
 public:
  explicit Winograd(const Convolution& conv)
      : conv_(conv), height_(conv.pooled_height() * conv.pool), width_(conv.pooled_width() * conv.pool) {}

  bool fits() const {
    return conv_.kernel == KERNEL && conv_.channels % PAD == 0 && height_ >= SIDE && width_ >= SIDE;
  }
  int64_t weights() const { return SQUARES * conv_.channels * conv_.outputs; }
  int64_t workspace() const { return BLOCK * (pixels_stride() + PRODUCTS_STRIDE); }

  // To [SQUARES][channels][outputs of a group] for one group of outputs after the other.
  void pack(const float* from, float* packed) const {
    const int64_t tap = conv_.channels * conv_.outputs;
    for_columns(conv_.outputs, [&](auto v, int64_t output) {
      constexpr int64_t WIDE = v.value * LANES;
      for (int64_t channel = 0; channel < conv_.channels; channel++)
        for (int64_t lane = 0; lane < WIDE; lane += LANES) {
          const float* corner = from + channel * conv_.outputs + output + lane;
          float* target = packed + SQUARES * conv_.channels * output + channel * WIDE + lane;
          transform_square<KERNEL, POINTS>(
              [](auto some, auto to) { Points::weights(some, to); },
              [&](int i, int j) { return load(corner + (i * KERNEL + j) * tap); },
              [&](int i, int j, Vec value) { store(target + (i * POINTS + j) * conv_.channels * WIDE, value); });
        }
    });
  }

  template <class Sink>
  void forward(const float* packed, const float* bias, const float* plane, float* workspace,
               const Sink& maxima) const {
    float *pixels = workspace, *products = workspace + BLOCK * pixels_stride();
    const int64_t tiles = (height_ + SIDE - 1) / SIDE * across(), blocks = (tiles + BLOCK - 1) / BLOCK;
    for (int64_t block = 0; block < blocks; block++) {
      const int64_t first = block * tiles / blocks, count = (block + 1) * tiles / blocks - first;
      transform(first, count, plane, pixels);
      for_columns(conv_.outputs, [&](auto v, int64_t output) {
        multiply_group<v.value>(count, packed + SQUARES * conv_.channels * output, pixels, products);
        finish<v.value>(first, count, products, bias, output, maxima);
      });
    }
  }

 private:
  static constexpr int KERNEL = Points::KERNEL, POINTS = Points::POINTS, SQUARES = POINTS * POINTS;
  static constexpr int SIDE = POINTS + 1 - KERNEL;  // a tile's results are so high and wide
  static constexpr int64_t BLOCK = 16;  // tiles at a time, so that they stay in the second-level cache
  static constexpr int64_t PRODUCTS_STRIDE = spread(SQUARES * 2 * LANES);
  int64_t pixels_stride() const { return spread(SQUARES * conv_.channels); }
  int64_t across() const { return (width_ + SIDE - 1) / SIDE; }

  // The last tiles overlap those before them where the size is not a multiple of SIDE.
  int64_t top(int64_t tile) const { return std::min(tile / across() * SIDE, height_ - SIDE); }
  int64_t left(int64_t tile) const { return std::min(tile % across() * SIDE, width_ - SIDE); }

  // Pixels are [tile][SQUARES][channels].
  void transform(int64_t first, int64_t count, const float* plane, float* pixels) const {
    for (int64_t t = 0; t < count; t++)
      for (int64_t channel = 0; channel < conv_.channels; channel += LANES) {
        const float* corner = plane + top(first + t) * conv_.row() + left(first + t) * conv_.channels + channel;
        float* target = pixels + t * pixels_stride() + channel;
        transform_square<POINTS, POINTS>(
            [](auto from, auto to) { Points::pixels(from, to); },
            [&](int i, int j) { return load(corner + i * conv_.row() + j * conv_.channels); },
            [&](int i, int j, Vec value) { store(target + (i * POINTS + j) * conv_.channels, value); });
      }
  }

  // Products are [tile][SQUARES][outputs of the group].
  template <int V>
  void multiply_group(int64_t count, const float* weights, const float* pixels, float* products) const {
    constexpr int64_t WIDE = V * LANES;
    for (int64_t s = 0; s < SQUARES; s++, weights += conv_.channels * WIDE)
      for_tiles<TILE_ROWS>(count, [&](auto r, int64_t t) {
        Tile<r.value, V> total;
        total.clear();
        multiply(total, pixels + t * pixels_stride() + s * conv_.channels, pixels_stride(), conv_.channels,
                 [&](int64_t k) { return weights + k * WIDE; });
        total.store_to(products + t * PRODUCTS_STRIDE + s * WIDE, PRODUCTS_STRIDE);
      });
  }

  template <int V, class Sink>
  void finish(int64_t first, int64_t count, const float* products, const float* bias, int64_t output,
              const Sink& maxima) const {
    for (int64_t t = 0; t < count; t++)
      for (int64_t lane = 0; lane < V * LANES; lane += LANES) {
        const float* from = products + t * PRODUCTS_STRIDE + lane;
        Vec results[SIDE * SIDE];
        transform_square<POINTS, SIDE>(
            [](auto some, auto to) { Points::products(some, to); },
            [&](int i, int j) { return load(from + (i * POINTS + j) * V * LANES); },
            [&](int i, int j, Vec value) { results[i * SIDE + j] = value + load(bias + output + lane); });
        const int64_t y = top(first + t) / conv_.pool, x = left(first + t) / conv_.pool;
        for (int64_t i = 0; i < SIDE / conv_.pool; i++)
          for (int64_t j = 0; j < SIDE / conv_.pool; j++) {
            const Vec* window = results + (i * SIDE + j) * conv_.pool;
            maxima.put(conv_, y + i, x + j, output + lane, [&](int p) { return window[p / 2 * SIDE + p % 2]; });
          }
      }
  }

  Convolution conv_;
  int64_t height_, width_;  // of the results in windows: an odd last row or column is in none
};

}  // namespace flockwise
