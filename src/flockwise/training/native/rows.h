// Products of tall matrices, rows of pixels by channels, with the weights of a layer.
#pragma once
#include <algorithm>
#include "vectors.h"

namespace flockwise {

// Rows that are worked on at a time, so that they stay in the second-level cache, and the depth of a product whose
// strip of weights stays in the first. 32 images of 2x2 pixels are one block: large weights are gone through once.
constexpr int64_t ROW_BLOCK = 144, STRIP_DEPTH = 512;
static_assert(ROW_BLOCK % TILE_ROWS == 0, "blocks of whole tiles would not fit");
constexpr int64_t STRIP = 2 * LANES;

// Room for [depth][columns] in strips of STRIP columns, as `multiply_rows` wants its right side.
constexpr int64_t strips(int64_t columns) { return (columns + STRIP - 1) / STRIP; }
constexpr int64_t packed_floats(int64_t depth, int64_t columns) { return strips(columns) * depth * STRIP; }

// Pack [depth][columns].
inline void pack_strips(const float* from, int64_t depth, int64_t columns, float* to) {
  for_columns(columns, [&](auto v, int64_t column) {
    float* strip = to + column / STRIP * depth * STRIP + column % STRIP;
    for (int64_t k = 0; k < depth; k++)
      for (int i = 0; i < v.value; i++) store(strip + k * STRIP + i * LANES, load(from + k * columns + column + i * LANES));
  });
}

// Pack the transpose of [columns][depth]; columns: of whole vectors.
inline void pack_transposed(const float* from, int64_t depth, int64_t columns, float* to) {
  for (int64_t column = 0; column < columns; column += LANES, from += LANES * depth) {
    float* strip = to + column / STRIP * depth * STRIP + column % STRIP;
    const int64_t squares = depth / LANES * LANES;
    for (int64_t k = 0; k < squares; k += LANES) {
      Vec square[LANES];
#pragma GCC unroll 16
      for (int i = 0; i < LANES; i++) square[i] = load(from + i * depth + k);
      transpose(square);
#pragma GCC unroll 16
      for (int i = 0; i < LANES; i++) store(strip + (k + i) * STRIP, square[i]);
    }
    for (int64_t k = squares; k < depth; k++)
      for (int i = 0; i < LANES; i++) strip[k * STRIP + i] = from[i * depth + k];
  }
}

// result[rows][columns] = left[rows][depth] . packed
inline void multiply_rows(const float* left, int64_t left_stride, int64_t rows, int64_t depth, const float* packed,
                          int64_t columns, float* result) {
  for (int64_t from = 0; from < depth; from += STRIP_DEPTH) {
    const int64_t deep = std::min(STRIP_DEPTH, depth - from);
    for_columns(columns, [&](auto v, int64_t column) {
      const float* strip = packed + column / STRIP * depth * STRIP + column % STRIP + from * STRIP;
      for_tiles<TILE_ROWS>(rows, [&](auto r, int64_t row) {
        Tile<r.value, v.value> total;
        float* target = result + row * columns + column;
        if (from == 0) total.clear();
        else total.load_from(target, columns);
        multiply(total, left + row * left_stride + from, left_stride, deep,
                 [&](int64_t k) { return strip + k * STRIP; });
        total.store_to(target, columns);
      });
    });
  }
}

// total[r][v] += sum over k < depth of left[k * left_stride + r] * right[k * right_stride + v]
template <int R, int V>
inline void multiply_columns(Tile<R, V>& total, const float* left, int64_t left_stride, const float* right,
                             int64_t right_stride, int64_t depth) {
  for (int64_t k = 0; k < depth; k++) {
    Vec b[V];
#pragma GCC unroll 2
    for (int v = 0; v < V; v++) b[v] = load_once(right + k * right_stride + v * LANES);
#pragma GCC unroll 12
    for (int r = 0; r < R; r++) {
      const float a = left[k * left_stride + r];
#pragma GCC unroll 2
      for (int v = 0; v < V; v++) total.at[r][v] += a * b[v];
    }
  }
}

// target[outputs][inputs] += factor * left[rows][outputs] transposed . right[rows][inputs]
inline void add_outer(const float* left, int64_t left_stride, const float* right, int64_t right_stride, int64_t rows,
                      int64_t outputs, int64_t inputs, float factor, float* target) {
  for_columns(inputs, [&](auto v, int64_t input) {
    for_tiles<TILE_ROWS>(outputs, [&](auto r, int64_t output) {
      Tile<r.value, v.value> total;
      float* corner = target + output * inputs + input;
      prefetch(corner + r.value * inputs, inputs, r.value, v.value * LANES);
      total.clear();
      multiply_columns(total, left + output, left_stride, right + input, right_stride, rows);
      total.each([&](int y, int x, Vec sum) {
        float* at = corner + y * inputs + x * LANES;
        store(at, load(at) + factor * sum);
      });
    });
  });
}

// Call visit(first, count) for blocks of rows as equal in size as whole tiles allow.
template <class Visit>
inline void for_row_blocks(int64_t rows, Visit visit) {
  const int64_t tiles = (rows + TILE_ROWS - 1) / TILE_ROWS, blocks = (rows + ROW_BLOCK - 1) / ROW_BLOCK;
  for (int64_t block = 0; block < blocks; block++) {
    const int64_t first = block * tiles / blocks * TILE_ROWS;
    visit(first, std::min(rows, (block + 1) * tiles / blocks * TILE_ROWS) - first);
  }
}

}  // namespace flockwise
