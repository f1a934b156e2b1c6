// Convolution by Winograd's minimal filtering (Lavin and Gray, CVPR 2016): 6x6 pixels at a time.
//
// A 5x5 kernel gives 2x2 results from 36 products instead of 100, a 3x3 kernel 4x4 results from 36 instead
// of 144. Both use the points 0, 1, -1, 2, -2 and infinity, so they share the transform of the pixels.
// The weights change with every batch and are transformed anew each time, which costs little.
#pragma once
#include "convolution.h"

namespace flockwise {

constexpr int POINTS = 6, SQUARES = POINTS * POINTS;
constexpr int64_t BLOCK_TILES = 3 * TILE_ROWS;  // so that a block's products stay in the second-level cache

inline bool winograd_fits(const Convolution& conv) {
  if ((conv.kernel != 3 && conv.kernel != 5) || conv.channels % PAD) return false;
  const int64_t step = POINTS + 1 - conv.kernel;  // zero for 7x7
  return conv.out_height() % step == 0 && conv.out_width() % step == 0;
}

inline int64_t winograd_workspace(const Convolution& conv) {
  return SQUARES * BLOCK_TILES * (conv.channels + conv.outputs);
}

// The three one-dimensional transforms, of from(0), from(1), ... to to(0, value), to(1, value), ...
template <int K, class From, class To>
inline void transform_weights(From from, To to) {
  Vec even = from(0), odd = from(1), even2 = from(0), odd2 = 2.0f * from(1);
  float power = 4;
#pragma GCC unroll 5
  for (int i = 2; i < K; i++, power *= 2) {
    (i % 2 ? odd : even) += from(i);
    (i % 2 ? odd2 : even2) += power * from(i);
  }
  to(0, from(0) * 0.25f);
  to(1, (even + odd) * (-1.0f / 6));
  to(2, (even - odd) * (-1.0f / 6));
  to(3, (even2 + odd2) * (1.0f / 24));
  to(4, (even2 - odd2) * (1.0f / 24));
  to(5, from(K - 1));
}

template <class From, class To>
inline void transform_pixels(From from, To to) {
  const Vec d0 = from(0), d1 = from(1), d2 = from(2), d3 = from(3), d4 = from(4), d5 = from(5);
  const Vec near_even = d4 - 4.0f * d2, near_odd = d3 - 4.0f * d1, far_even = d4 - d2, far_odd = 2.0f * (d3 - d1);
  to(0, 4.0f * d0 - 5.0f * d2 + d4);
  to(1, near_even + near_odd);
  to(2, near_even - near_odd);
  to(3, far_even + far_odd);
  to(4, far_even - far_odd);
  to(5, 4.0f * d1 - 5.0f * d3 + d5);
}

template <int OUT, class From, class To>
inline void transform_products(From from, To to) {
  const Vec m1 = from(1), m2 = from(2), m3 = from(3), m4 = from(4), m5 = from(5);
  const Vec sum = m1 + m2, difference = m1 - m2, sum2 = m3 + m4, difference2 = m3 - m4;
  to(0, from(0) + sum + sum2);
  if constexpr (OUT == 4) {
    to(1, difference + 2.0f * difference2);
    to(2, sum + 4.0f * sum2);
    to(3, difference + 8.0f * difference2 + m5);
  } else {
    to(1, difference + 2.0f * difference2 + m5);
  }
}

// transformed is [SQUARES][channels][outputs], made from the [taps][outputs] of `pack_forward`.
template <int K>
inline void pack_winograd_of(const Convolution& conv, const float* packed, float* transformed) {
  for (int64_t channel = 0; channel < conv.channels; channel++)
    for (int64_t output = 0; output < conv.outputs; output += LANES) {
      Vec columns[SQUARES];
#pragma GCC unroll 6
      for (int j = 0; j < K; j++)
        transform_weights<K>(
            [&](int i) { return load(packed + ((i * K + j) * conv.channels + channel) * conv.outputs + output); },
            [&](int i, Vec value) { columns[i * POINTS + j] = value; });
#pragma GCC unroll 6
      for (int i = 0; i < POINTS; i++)
        transform_weights<K>([&](int j) { return columns[i * POINTS + j]; },
                             [&](int j, Vec value) {
                               const int64_t row = (i * POINTS + j) * conv.channels + channel;
                               store(transformed + row * conv.outputs + output, value);
                             });
    }
}

// Tiles number `first` and on, row by row; each gives OUT x OUT results.
struct Tiles {
  int64_t first, count, across;
};

// Pixels of some tiles, transformed: [SQUARES][BLOCK_TILES][channels].
template <int OUT>
inline void transform_tiles(const Convolution& conv, const Tiles& tiles, const float* plane, float* pixels) {
  for (int64_t t = 0; t < tiles.count; t++)
    for (int64_t channel = 0; channel < conv.channels; channel += LANES) {
      const int64_t y = (tiles.first + t) / tiles.across * OUT, x = (tiles.first + t) % tiles.across * OUT;
      const float* corner = plane + y * conv.row() + x * conv.channels + channel;
      Vec columns[SQUARES];
#pragma GCC unroll 6
      for (int j = 0; j < POINTS; j++)
        transform_pixels([&](int i) { return load(corner + i * conv.row() + j * conv.channels); },
                         [&](int i, Vec value) { columns[i * POINTS + j] = value; });
#pragma GCC unroll 6
      for (int i = 0; i < POINTS; i++)
        transform_pixels([&](int j) { return columns[i * POINTS + j]; },
                         [&](int j, Vec value) {
                           const int64_t row = (i * POINTS + j) * BLOCK_TILES + t;
                           store(pixels + row * conv.channels + channel, value);
                         });
    }
}

// Their products with the transformed weights: [SQUARES][BLOCK_TILES][outputs].
inline void multiply_tiles(const Convolution& conv, const Tiles& tiles, const float* transformed,
                           const float* pixels, float* products) {
  for (int64_t s = 0; s < SQUARES; s++)
    for_columns(conv.outputs, [&](auto v, int64_t output) {
      const float* weights = transformed + s * conv.channels * conv.outputs + output;
      for_tiles<TILE_ROWS>(tiles.count, [&](auto r, int64_t t) {
        constexpr int R = r.value, V = v.value;
        Tile<R, V> total;
        total.clear();
        multiply(total, pixels + (s * BLOCK_TILES + t) * conv.channels, conv.channels, conv.channels,
                 [&](int64_t k) { return weights + k * conv.outputs; });
        total.store_to(products + (s * BLOCK_TILES + t) * conv.outputs + output, conv.outputs);
      });
    });
}

// The results, rectified and pooled while they are in registers.
template <int OUT>
inline void finish_tiles(const Convolution& conv, const Tiles& tiles, const float* products, const float* bias,
                         const Pooled& pooled) {
  const int64_t side = OUT / conv.pool;  // a tile is that many windows high and wide
  for (int64_t t = 0; t < tiles.count; t++)
    for (int64_t output = 0; output < conv.outputs; output += LANES) {
      Vec columns[OUT * POINTS], results[OUT * OUT];
#pragma GCC unroll 6
      for (int j = 0; j < POINTS; j++)
        transform_products<OUT>(
            [&](int i) { return load(products + ((i * POINTS + j) * BLOCK_TILES + t) * conv.outputs + output); },
            [&](int i, Vec value) { columns[i * POINTS + j] = value; });
#pragma GCC unroll 6
      for (int i = 0; i < OUT; i++)
        transform_products<OUT>([&](int j) { return columns[i * POINTS + j]; },
                                [&](int j, Vec value) { results[i * OUT + j] = value + load(bias + output); });
      const int64_t y = (tiles.first + t) / tiles.across * side, x = (tiles.first + t) % tiles.across * side;
      for (int64_t i = 0; i < side; i++)
        for (int64_t j = 0; j < side; j++) {
          const Vec* corner = results + (i * OUT + j) * conv.pool;
          pool_window(conv, pooled, y + i, x + j, output, [&](int p) { return corner[p / 2 * OUT + p % 2]; });
        }
    }
}

template <int OUT>
inline void forward_winograd_of(const Convolution& conv, const float* transformed, const float* bias,
                                const float* plane, float* workspace, const Pooled& pooled) {
  const int64_t across = conv.out_width() / OUT, tiles = conv.out_height() / OUT * across;
  float *pixels = workspace, *products = workspace + SQUARES * BLOCK_TILES * conv.channels;
  const int64_t blocks = (tiles + BLOCK_TILES - 1) / BLOCK_TILES;
  for (int64_t block = 0; block < blocks; block++) {
    const int64_t first = block * tiles / blocks, count = (block + 1) * tiles / blocks - first;
    const Tiles some{first, count, across};
    transform_tiles<OUT>(conv, some, plane, pixels);
    multiply_tiles(conv, some, transformed, pixels, products);
    finish_tiles<OUT>(conv, some, products, bias, pooled);
  }
}

inline void pack_winograd(const Convolution& conv, const float* packed, float* transformed) {
  if (conv.kernel == 5) pack_winograd_of<5>(conv, packed, transformed);
  else pack_winograd_of<3>(conv, packed, transformed);
}

inline void forward_winograd(const Convolution& conv, const float* transformed, const float* bias,
                             const float* plane, float* workspace, const Pooled& pooled) {
  if (conv.kernel == 5) forward_winograd_of<2>(conv, transformed, bias, plane, workspace, pooled);
  else forward_winograd_of<4>(conv, transformed, bias, plane, workspace, pooled);
}

}  // namespace flockwise
