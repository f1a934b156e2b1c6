// Lists of the gradients that are not zero.
#pragma once
#include "vectors.h"

namespace flockwise {

// One gradient that is left, and the place of what it multiplies.
struct Entry {
  float value;
  int32_t place;
};

// Write both halves at once, without the way through a float register (little-endian machines only).
inline void write(Entry* entry, const float* value, int32_t place) {
  uint32_t bits;
  std::memcpy(&bits, value, sizeof bits);
  const uint64_t both = bits | uint64_t(uint32_t(place)) << 32;
  std::memcpy(static_cast<void*>(entry), &both, sizeof both);
}

// Append the values whose place is not negative. Up to LANES entries are written whatever is kept: no branch to
// mispredict.
inline Entry* append(Entry* to, Vec values, IntVec places) {
#if defined(__AVX512F__) && defined(__AVX512DQ__) && !defined(FLOCKWISE_LANES)
  const __mmask16 kept = __mmask16(~_mm512_movepi32_mask(reinterpret_cast<__m512i>(places)));
  const __m512i left = _mm512_maskz_compress_epi32(kept, reinterpret_cast<__m512i>(values));
  const __m512i right = _mm512_maskz_compress_epi32(kept, reinterpret_cast<__m512i>(places));
  const __m512i first = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const __m512i second = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  _mm512_storeu_si512(to, _mm512_permutex2var_epi32(left, first, right));
  _mm512_storeu_si512(to + LANES / 2, _mm512_permutex2var_epi32(left, second, right));
  return to + __builtin_popcount(kept);
#else
  for (int i = 0; i < LANES; i++) {
    const float value = values[i];
    write(to, &value, places[i]);
    to += places[i] >= 0;
  }
  return to;
#endif
}

// total += the sum over a list of value * row(place).
template <int V, class Row>
inline void add_rows(Tile<1, V>& total, const Entry* entry, const Entry* end, Row row) {
  for (; entry < end; entry++) {
    const float* from = row(entry->place);
    asm("" : "+r"(from));  // one pointer, not one index for each vector
    const float value = entry->value;
#pragma GCC unroll 12
    for (int v = 0; v < V; v++) total.at[0][v] += value * load(from + v * LANES);
  }
}

}  // namespace flockwise
