// Sums over the columns for all pairs of rows: |a - b| or a * b, in tiles of rows that stay in registers.
//
// Sums run in float32 over a block of columns and go on in double from block to block.
#pragma once
#include "lanes.h"

namespace flockwise {

// Keeps the value in a register: compilers like to read the memory again for each use instead.
inline Vec once(Vec value) {
#if defined(FLOCKWISE_LANES)
#elif defined(__x86_64__)
  asm("" : "+v"(value));
#elif defined(__aarch64__)
  asm("" : "+w"(value));
#endif
  return value;
}

struct Products {
  static constexpr int LEFT = 3, RIGHT = 4;
  inline Vec add(Vec total, Vec a, Vec b) const { return total + a * b; }
};

struct Differences {
  static constexpr int LEFT = 2, RIGHT = 4;
  inline Vec add(Vec total, Vec a, Vec b) const { return total + absolute(a - b); }
};

inline double total_of(Vec v) {
  double total = 0;
  for (int lane = 0; lane < LANES; lane++) total += v[lane];
  return total;
}

inline double squares(const float* row, const float* center, int64_t width) {
  Vec total[4] = {};
  int64_t i = 0;
  for (; i + 4 * LANES <= width; i += 4 * LANES)
#pragma GCC unroll 4
    for (int v = 0; v < 4; v++) {
      const Vec value = load(row + i + v * LANES) - (center ? load(center + i + v * LANES) : Vec{});
      total[v] += value * value;
    }
  double rest = 0;
  for (; i < width; i++) {
    const float value = row[i] - (center ? center[i] : 0.0f);
    rest += value * value;
  }
  return total_of((total[0] + total[1]) + (total[2] + total[3])) + rest;
}

// Adds to sums[i][j], i <= j, the pairs of `clients` rows of `width` columns, a multiple of LANES. Meanwhile it asks
// the memory for as many columns of the rows from `next` on, `apart` from each other, one row for each tile.
template <class Term>
void add_pairs(
    const float* rows, int64_t stride, int64_t clients, int64_t width, double* sums, const float* next, int64_t apart) {
  constexpr int L = Term::LEFT, R = Term::RIGHT;
  const Term term{};
  const float* last = next + (clients - 1) * apart;
  const auto row = [&](int64_t place) { return rows + (place < clients ? place : clients - 1) * stride; };
  for (int64_t j = 0; j < clients; j += R)
    for (int64_t i = 0; i < clients && i < j + R; i += L) {
      const float *left[L], *right[R];
      for (int l = 0; l < L; l++) left[l] = row(i + l);
      for (int r = 0; r < R; r++) right[r] = row(j + r);
      Vec total[L][R] = {};
      for (int64_t c = 0; c < width; c += LANES) {
        __builtin_prefetch(next + c, 0, 2);
        Vec a[L];
#pragma GCC unroll 4
        for (int l = 0; l < L; l++) a[l] = once(load(left[l] + c));
#pragma GCC unroll 4
        for (int r = 0; r < R; r++) {
          const Vec b = once(load(right[r] + c));
#pragma GCC unroll 4
          for (int l = 0; l < L; l++) total[l][r] = term.add(total[l][r], a[l], b);
        }
      }
      if (next < last) next += apart;
#pragma GCC unroll 4
      for (int l = 0; l < L; l++)
#pragma GCC unroll 4
        for (int r = 0; r < R; r++)
          if (i + l <= j + r && j + r < clients) sums[(i + l) * clients + j + r] += total_of(total[l][r]);
    }
}

}  // namespace flockwise
