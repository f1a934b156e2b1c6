// Vectors of floats as wide as the machine's registers, and loops cut into register tiles.
//
// GCC/Clang vector extensions instead of intrinsics: one source for AVX-512, AVX2, SSE and NEON.
#pragma once
#include <cstdint>
#include <cstring>
#include <utility>

namespace flockwise {

#if defined(__AVX512F__)
constexpr int LANES = 16, REGISTERS = 32;
#elif defined(__AVX__)
constexpr int LANES = 8, REGISTERS = 16;
#elif defined(__aarch64__)
constexpr int LANES = 4, REGISTERS = 32;
#else
constexpr int LANES = 4, REGISTERS = 16;
#endif

// Every channel count and row length is padded to this, whatever the machine's LANES are.
constexpr int64_t PAD = 16;
constexpr int64_t padded(int64_t size) { return (size + PAD - 1) / PAD * PAD; }

// A row length whose multiples spread over all cache sets: rows 4096 bytes apart would evict each other.
constexpr int64_t spread(int64_t size) { return padded(size) / PAD % 2 ? padded(size) : padded(size) + PAD; }

typedef float Vec __attribute__((vector_size(LANES * 4)));
typedef float LooseVec __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int32_t IntVec __attribute__((vector_size(LANES * 4)));
typedef uint8_t ByteVec __attribute__((vector_size(LANES)));

inline Vec load(const float* from) { return *reinterpret_cast<const LooseVec*>(from); }
inline void store(float* to, Vec value) { *reinterpret_cast<LooseVec*>(to) = value; }

template <int SHIFT, int... I>
inline Vec rotate(Vec v, std::integer_sequence<int, I...>) {
#if defined(__clang__)
  return __builtin_shufflevector(v, v, ((I + SHIFT) % LANES)...);
#else
  return __builtin_shuffle(v, IntVec{((I + SHIFT) % LANES)...});
#endif
}

template <int SHIFT = LANES / 2>
inline float sum(Vec v) {
  v += rotate<SHIFT>(v, std::make_integer_sequence<int, LANES>{});
  if constexpr (SHIFT > 1) return sum<SHIFT / 2>(v);
  else return v[0];
}

template <int SIZE>
struct Size {
  static constexpr int value = SIZE;
};

// Call body(Size<s>, start) for tiles of s <= MOST that cover `count`, as equal in size as can be: a
// small last tile would wait for its own additions.
template <int MOST, class Body>
inline void for_tiles(int64_t count, Body body) {
  const int64_t tiles = (count + MOST - 1) / MOST;
  for (int64_t tile = 0; tile < tiles; tile++) {
    const int64_t start = tile * count / tiles, size = (tile + 1) * count / tiles - start;
    [&]<int... I>(std::integer_sequence<int, I...>) {
      (void)((size == I + 1 && (body(Size<I + 1>{}, start), true)) || ...);
    }(std::make_integer_sequence<int, MOST>{});
  }
}

// Tiles of the product below: up to this many rows, by two vectors (one where only one is left).
constexpr int TILE_ROWS = (REGISTERS - 4) / 2 > 12 ? 12 : (REGISTERS - 4) / 2;

template <class Body>
inline void for_columns(int64_t count, Body body) {
  int64_t column = 0;
  for (; column + 2 * LANES <= count; column += 2 * LANES) body(Size<2>{}, column);
  for (; column < count; column += LANES) body(Size<1>{}, column);
}

// total[r][v] += sum over k < depth of left[r * stride + k] * row(k)[v]: the core of all dense products.
template <int R, int V, class Row>
inline void multiply(Vec (&total)[R][V], const float* left, int64_t stride, int64_t depth, Row row) {
  for (int64_t k = 0; k < depth; k++) {
    const float* right = row(k);
    Vec b[V];
#pragma GCC unroll 2
    for (int v = 0; v < V; v++) b[v] = load(right + v * LANES);
#pragma GCC unroll 12
    for (int r = 0; r < R; r++) {
      const float a = left[r * stride + k];
#pragma GCC unroll 2
      for (int v = 0; v < V; v++) total[r][v] += a * b[v];
    }
  }
}

}  // namespace flockwise
