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
