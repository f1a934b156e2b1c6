// Adds columns of rows, with signs and turned block by block, to short totals: see kernels/fold.py.
#pragma once
#include "lanes.h"

namespace flockwise {

// Pieces of one length each: as loops over plain arrays they become vector instructions.
inline void add_signed(float* __restrict total, const float* __restrict sign, const float* __restrict from, int64_t count) {
  for (int64_t i = 0; i < count; i++) total[i] += sign[i] * from[i];
}

inline void fold(const float* rows, int64_t stride, int64_t count, const float* signs, const int64_t* turns, int64_t first,
                 int64_t columns, int64_t width, float* totals) {
  constexpr int64_t AT_ONCE = 8;  // rows whose totals stay in the first cache while a block's signs are there
  for (int64_t row = 0; row < count; row += AT_ONCE) {
    const int64_t stop = row + AT_ONCE < count ? row + AT_ONCE : count;
    for (int64_t at = first; at < first + columns;) {
      const int64_t inside = at % width, place = (inside + turns[at / width]) % width;
      int64_t run = width - (inside > place ? inside : place);
      if (run > first + columns - at) run = first + columns - at;
      for (int64_t r = row; r < stop; r++)
        add_signed(totals + r * width + place, signs + at, rows + r * stride + at - first, run);
      at += run;
    }
  }
}

}  // namespace flockwise
