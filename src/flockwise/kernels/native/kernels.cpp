// What Python calls. Functions return 0, NOT_FINITE or NO_MEMORY.
#include <cstdlib>

#include "fold.h"
#include "middle.h"
#include "pairs.h"

namespace flockwise {

constexpr int NOT_FINITE = 1, NO_MEMORY = 2;

float* scratch(int64_t floats) {
  return static_cast<float*>(std::aligned_alloc(64, (floats * sizeof(float) + 63) / 64 * 64));
}

template <class Reduction>
int each_column(Matrix matrix, int64_t start, int64_t stop, Reduction reduction, float* result) {
  Strip strip{nullptr, reduction.split(), matrix.count - reduction.split()};
  strip.space = scratch(strip.floats());
  if (!strip.space) return NO_MEMORY;
  strip.clear();
  bool finite = true;
  for (int64_t column = start; finite && column < stop;) {
    finite = strip.copy(matrix, column, stop);
    Ahead ahead = strip.ahead(matrix, column);
    for (int number = 0; number < Strip::REGISTERS && column < stop; number++, column += LANES) {
      const Rows first = strip.first(number), second = strip.second(number);
      first.sort(ahead);
      second.sort(ahead);
      const Vec value = reduction.reduce(first, second);
      const int64_t left = stop - column < LANES ? stop - column : LANES;
      std::memcpy(result + column, &value, left * sizeof(float));
    }
  }
  std::free(strip.space);
  return finite ? 0 : NOT_FINITE;
}

// Columns in a block of pairs: a tile of rows in the first cache, for up to 100 rows all in the second.
constexpr int64_t BLOCK = 1024, STRIDE = BLOCK + 16;

template <class Term>
int all_pairs(const float* rows, int64_t stride, int64_t count, const float* center, int64_t start, int64_t stop,
              double* sums) {
  float* packed = scratch(count * STRIDE);
  if (!packed) return NO_MEMORY;
  for (int64_t column = start; column < stop; column += BLOCK) {
    const int64_t width = stop - column < BLOCK ? stop - column : BLOCK;
    const int64_t whole = (width + LANES - 1) / LANES * LANES;
    // A copy is aligned, and its rows do not fall on each other in the cache.
    for (int64_t place = 0; place < count; place++) {
      const float* from = rows + place * stride + column;
      float* to = packed + place * STRIDE;
      if (center)
        for (int64_t i = 0; i < width; i++) to[i] = from[i] - center[column + i];
      else
        std::memcpy(to, from, width * sizeof(float));
      for (int64_t i = width; i < whole; i++) to[i] = 0;
    }
    const bool more = column + BLOCK < stop;
    add_pairs<Term>(packed, STRIDE, count, whole, sums, rows + column + (more ? BLOCK : 0), stride);
  }
  std::free(packed);
  return 0;
}

}  // namespace flockwise

using namespace flockwise;

extern "C" {

int flockwise_middle(
    const float* rows, int64_t stride, const int64_t* members, int64_t count, int64_t start, int64_t stop,
    int64_t cut, float* result) {
  return each_column({rows, stride, members, count}, start, stop, Middle{count, cut}, result);
}

int flockwise_closest(
    const float* rows, int64_t stride, const int64_t* members, int64_t count, int64_t start, int64_t stop,
    int64_t kept, float* result) {
  return each_column({rows, stride, members, count}, start, stop, Closest{count, kept}, result);
}

int flockwise_differences(
    const float* rows, int64_t stride, int64_t count, const float* center, int64_t start, int64_t stop, double* sums) {
  return all_pairs<Differences>(rows, stride, count, center, start, stop, sums);
}

int flockwise_products(
    const float* rows, int64_t stride, int64_t count, const float* center, int64_t start, int64_t stop, double* sums) {
  return all_pairs<Products>(rows, stride, count, center, start, stop, sums);
}

// result[start:stop] = the sum of weight times row, in float32; says if that is not finite somewhere.
int flockwise_weighted(
    const float* rows, int64_t stride, int64_t count, const float* weights, int64_t start, int64_t stop,
    float* result) {
  constexpr int64_t WIDTH = 4096;  // shorter pieces of rows keep the hardware from reading ahead
  constexpr int AT_ONCE = 5;
  int32_t bad = 0;
  for (int64_t column = start; column < stop; column += WIDTH) {
    const int64_t width = stop - column < WIDTH ? stop - column : WIDTH;
    float* __restrict total = result + column;
    std::memset(total, 0, width * sizeof(float));
    int64_t row = 0;
    for (; row + AT_ONCE <= count; row += AT_ONCE) {
      const float* x = rows + row * stride + column;
      const float* w = weights + row;
      for (int64_t i = 0; i < width; i++)
        total[i] += w[0] * x[i] + w[1] * x[stride + i] + w[2] * x[2 * stride + i] + w[3] * x[3 * stride + i] +
                    w[4] * x[4 * stride + i];
    }
    for (; row < count; row++)
      for (int64_t i = 0; i < width; i++) total[i] += weights[row] * rows[row * stride + column + i];
    for (int64_t i = 0; i < width; i++) {
      int32_t bits;
      std::memcpy(&bits, total + i, sizeof bits);
      bad |= (bits & 0x7f800000) == 0x7f800000;
    }
  }
  return bad ? NOT_FINITE : 0;
}

// sums[row] += the squares of the columns of a row (minus the center), in float32 over a block and then in double.
int flockwise_lengths(
    const float* rows, int64_t stride, int64_t count, const float* center, int64_t start, int64_t stop, double* sums) {
  for (int64_t column = start; column < stop; column += BLOCK)
    for (int64_t row = 0; row < count; row++)
      sums[row] += squares(
          rows + row * stride + column, center ? center + column : nullptr, stop - column < BLOCK ? stop - column : BLOCK);
  return 0;
}

int flockwise_fold(
    const float* rows, int64_t stride, int64_t count, const float* signs, const int64_t* turns, int64_t first,
    int64_t columns, int64_t width, float* totals) {
  fold(rows, stride, count, signs, turns, first, columns, width, totals);
  return 0;
}

int flockwise_lanes() { return LANES; }
}
