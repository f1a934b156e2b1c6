// Order statistics of every column, one register of columns at a time: all rows of it fit into the first cache,
// and a sorting network takes the same steps in every column.
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

  // Copies the columns of rows `first` to `first + some` and fills up with infinite rows to a multiple of eight.
  // Columns past `stop` are zero. The lanes of what it returns are not 0 where a value was not finite.
  Mask copy(int64_t first, int64_t some, int64_t column, int64_t stop, Rows to) const {
    Mask bad = {};
    for (int64_t place = 0; place < some; place++) {
      const float* from = at + members[first + place] * stride + column;
      Vec value = {};
      if (column + LANES <= stop) {
        value = load(from);
        // Many rows are too many streams for the hardware to see what comes next.
        if (column % 16 < LANES) __builtin_prefetch(from + 32, 0, 2);
      } else {
        std::memcpy(&value, from, (stop - column) * sizeof(float));
      }
      bad |= not_finite(value);
      to.put(place, value);
    }
    for (int64_t place = some; place < to.count; place++)
      to.put(place, Vec{} + std::numeric_limits<float>::infinity());
    return bad;
  }
};

}  // namespace flockwise
