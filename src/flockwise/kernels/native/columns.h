// Columns on their way to order statistics: one register of columns of all rows fits into the first cache, and a
// sorting network takes the same steps in every column.
#pragma once
#include <limits>

#include "sort.h"

namespace flockwise {

constexpr int64_t eights(int64_t count) { return (count + 7) / 8 * 8; }

struct Matrix {
  const float* at;
  int64_t stride;
  const int64_t* members;  // the rows to use
  int64_t count;
};

// Asks for the columns that come next, a few cache lines at a time while the present ones are sorted: all at once,
// they would take as long as if nobody had asked before.
struct Ahead {
  Matrix matrix;
  int64_t column, lines;  // where they start, and how many cache lines they take in each row
  int64_t place = 0, line = 0;

  inline void operator()() {
    for (int i = 0; i < LANES / 4 + 1 && place < matrix.count; i++) {
      __builtin_prefetch(matrix.at + matrix.members[place] * matrix.stride + column + 16 * line + 15, 0, 2);
      if (++line == lines) line = 0, place++;
    }
  }
};

// Eight registers of columns side by side, so that a visit to a row of the matrix takes whole cache lines of it.
// Each has the rows of the first part and those of the second, both filled up with infinite rows.
struct Strip {
  static constexpr int REGISTERS = 8, WIDTH = REGISTERS * LANES;
  float* space;
  int64_t a, b;

  int64_t rows() const { return eights(a) + eights(b); }
  int64_t floats() const { return rows() * WIDTH; }
  Rows first(int number) const { return {space + number * rows() * LANES, eights(a)}; }
  Rows second(int number) const { return {space + (number * rows() + eights(a)) * LANES, eights(b)}; }

  // Sorting leaves infinite rows where they are, so that once is enough.
  void clear() const {
    for (int64_t i = 0; i < floats(); i++) space[i] = std::numeric_limits<float>::infinity();
  }

  Ahead ahead(Matrix matrix, int64_t column) const { return {matrix, column + WIDTH, WIDTH / 16}; }

  // Copies columns and says whether all are finite; those past `stop` become zero.
  bool copy(Matrix matrix, int64_t column, int64_t stop) const {
    const int64_t step = rows() * LANES;
    Mask bad = {};
    for (int64_t place = 0; place < matrix.count; place++) {
      const float* from = matrix.at + matrix.members[place] * matrix.stride + column;
      float* to = space + (place < a ? place : place - a + eights(a)) * LANES;
      float last[WIDTH] = {};
      if (column + WIDTH > stop) {
        std::memcpy(last, from, (stop - column) * sizeof(float));
        from = last;
      }
      for (int number = 0; number < REGISTERS; number++) {
        const Vec value = load(from + number * LANES);
        bad |= not_finite(value);
        store(to + number * step, value);
      }
    }
    return !any(bad);
  }
};

}  // namespace flockwise
