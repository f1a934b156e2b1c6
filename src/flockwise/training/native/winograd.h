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
  const int64_t step = POINTS + 1 - conv.kernel;
  return (conv.kernel == 3 || conv.kernel == 5) && conv.out_height() % step == 0 && conv.out_width() % step == 0;
}

inline int64_t winograd_workspace(const Convolution& conv) {
  return SQUARES * BLOCK_TILES * (conv.channels + conv.outputs);
}

// The three one-dimensional transforms; `stride` says how far apart the elements of a column lie.
template <int K>
inline void transform_weights(const Vec* from, Vec* to, int stride) {
  Vec even = from[0], odd = from[stride], even2 = from[0], odd2 = 2.0f * from[stride];
  float power = 4;
  for (int i = 2; i < K; i++, power *= 2) {
    (i % 2 ? odd : even) += from[i * stride];
    (i % 2 ? odd2 : even2) += power * from[i * stride];
  }
  to[0] = from[0] * 0.25f;
  to[stride] = (even + odd) * (-1.0f / 6);
  to[2 * stride] = (even - odd) * (-1.0f / 6);
  to[3 * stride] = (even2 + odd2) * (1.0f / 24);
  to[4 * stride] = (even2 - odd2) * (1.0f / 24);
  to[5 * stride] = from[(K - 1) * stride];
}

inline void transform_pixels(const Vec* d, Vec* to, int stride) {
  const Vec d0 = d[0], d1 = d[stride], d2 = d[2 * stride], d3 = d[3 * stride], d4 = d[4 * stride];
  const Vec near_even = d4 - 4.0f * d2, near_odd = d3 - 4.0f * d1, far_even = d4 - d2, far_odd = 2.0f * (d3 - d1);
  to[5 * stride] = 4.0f * d1 - 5.0f * d3 + d[5 * stride];
  to[0] = 4.0f * d0 - 5.0f * d2 + d4;
  to[stride] = near_even + near_odd;
  to[2 * stride] = near_even - near_odd;
  to[3 * stride] = far_even + far_odd;
  to[4 * stride] = far_even - far_odd;
}

template <int OUT>
inline void transform_products(const Vec* m, Vec* to, int stride) {
  const Vec sum = m[stride] + m[2 * stride], difference = m[stride] - m[2 * stride];
  const Vec sum2 = m[3 * stride] + m[4 * stride], difference2 = m[3 * stride] - m[4 * stride];
  const Vec m5 = m[5 * stride];
  to[0] = m[0] + sum + sum2;
  to[stride] = difference + 2.0f * difference2;
  if constexpr (OUT == 4) {
    to[2 * stride] = sum + 4.0f * sum2;
    to[3 * stride] = difference + 8.0f * difference2 + m5;
  } else {
    to[stride] += m5;
  }
}

// transformed is [SQUARES][channels][outputs], made from the [taps][outputs] of `pack_forward`.
template <int K>
inline void pack_winograd_of(const Convolution& conv, const float* packed, float* transformed) {
  for (int64_t channel = 0; channel < conv.channels; channel++)
    for (int64_t output = 0; output < conv.outputs; output += LANES) {
      Vec taps[POINTS * POINTS], columns[POINTS * POINTS];
      for (int i = 0; i < K; i++)
        for (int j = 0; j < K; j++)
          taps[i * POINTS + j] = load(packed + ((i * K + j) * conv.channels + channel) * conv.outputs + output);
      for (int j = 0; j < K; j++) transform_weights<K>(taps + j, columns + j, POINTS);
      for (int i = 0; i < POINTS; i++) transform_weights<K>(columns + i * POINTS, taps + i * POINTS, 1);
      for (int s = 0; s < SQUARES; s++)
        store(transformed + (s * conv.channels + channel) * conv.outputs + output, taps[s]);
    }
}

template <int OUT>
inline void forward_winograd_of(const Convolution& conv, const float* transformed, const float* bias,
                                const float* plane, float* result, float* workspace) {
  const int64_t across = conv.out_width() / OUT, tiles = conv.out_height() / OUT * across;
  float* pixels = workspace;                                           // [SQUARES][tiles][channels]
  float* products = workspace + SQUARES * BLOCK_TILES * conv.channels;  // [SQUARES][tiles][outputs]
  const int64_t blocks = (tiles + BLOCK_TILES - 1) / BLOCK_TILES;
  for (int64_t block = 0; block < blocks; block++) {
    const int64_t first = block * tiles / blocks, count = (block + 1) * tiles / blocks - first;
    for (int64_t t = 0; t < count; t++)
      for (int64_t channel = 0; channel < conv.channels; channel += LANES) {
        const int64_t y = (first + t) / across * OUT, x = (first + t) % across * OUT;
        const float* corner = plane + y * conv.row() + x * conv.channels + channel;
        Vec d[SQUARES];
        for (int i = 0; i < POINTS; i++)
          for (int j = 0; j < POINTS; j++) d[i * POINTS + j] = load(corner + i * conv.row() + j * conv.channels);
        for (int j = 0; j < POINTS; j++) transform_pixels(d + j, d + j, POINTS);
        for (int i = 0; i < POINTS; i++) transform_pixels(d + i * POINTS, d + i * POINTS, 1);
        for (int s = 0; s < SQUARES; s++) store(pixels + (s * BLOCK_TILES + t) * conv.channels + channel, d[s]);
      }
    for (int64_t s = 0; s < SQUARES; s++)
      for_columns(conv.outputs, [&](auto v, int64_t output) {
        const float* weights = transformed + s * conv.channels * conv.outputs + output;
        for_tiles<TILE_ROWS>(count, [&](auto r, int64_t t) {
          constexpr int R = r.value, V = v.value;
          Tile<R, V> total;
          total.clear();
          multiply(total, pixels + (s * BLOCK_TILES + t) * conv.channels, conv.channels, conv.channels,
                   [&](int64_t k) { return weights + k * conv.outputs; });
          total.store_to(products + (s * BLOCK_TILES + t) * conv.outputs + output, conv.outputs);
        });
      });
    for (int64_t t = 0; t < count; t++)
      for (int64_t output = 0; output < conv.outputs; output += LANES) {
        Vec m[SQUARES];
        for (int s = 0; s < SQUARES; s++) m[s] = load(products + (s * BLOCK_TILES + t) * conv.outputs + output);
        for (int j = 0; j < POINTS; j++) transform_products<OUT>(m + j, m + j, POINTS);
        for (int i = 0; i < OUT; i++) transform_products<OUT>(m + i * POINTS, m + i * POINTS, 1);
        const int64_t y = (first + t) / across * OUT, x = (first + t) % across * OUT;
        float* target = result + (y * conv.out_width() + x) * conv.outputs + output;
        for (int i = 0; i < OUT; i++)
          for (int j = 0; j < OUT; j++)
            store(target + (i * conv.out_width() + j) * conv.outputs, m[i * POINTS + j] + load(bias + output));
      }
  }
}

inline void pack_winograd(const Convolution& conv, const float* packed, float* transformed) {
  if (conv.kernel == 5) pack_winograd_of<5>(conv, packed, transformed);
  else pack_winograd_of<3>(conv, packed, transformed);
}

inline void forward_winograd(const Convolution& conv, const float* transformed, const float* bias,
                             const float* plane, float* result, float* workspace) {
  if (conv.kernel == 5) forward_winograd_of<2>(conv, transformed, bias, plane, result, workspace);
  else forward_winograd_of<4>(conv, transformed, bias, plane, result, workspace);
}

}  // namespace flockwise
