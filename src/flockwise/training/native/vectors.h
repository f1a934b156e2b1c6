// Vectors of floats as wide as the machine's registers, and loops cut into register tiles.
//
// GCC/Clang vector extensions instead of intrinsics: one source for AVX-512, AVX2, SSE and NEON.
#pragma once
#include <cstdint>
#include <cstring>
#include <utility>
#if defined(__AVX__)
#include <immintrin.h>
#endif

namespace flockwise {

#if defined(FLOCKWISE_LANES)  // for tests: other widths than this machine's, put together from what it has
constexpr int LANES = FLOCKWISE_LANES, REGISTERS = LANES == 16 ? 32 : 16;
#elif defined(__AVX512F__)
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

// Calls to what is small and used for every vector would move it through memory.
#define FLOCKWISE_INLINE __attribute__((always_inline)) inline

typedef float Vec __attribute__((vector_size(LANES * 4)));
typedef float LooseVec __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef float HalfVec __attribute__((vector_size(LANES * 2)));
typedef float LooseHalfVec __attribute__((vector_size(LANES * 2), aligned(4), may_alias));
typedef int32_t IntVec __attribute__((vector_size(LANES * 4)));
typedef uint8_t ByteVec __attribute__((vector_size(LANES)));

inline Vec load(const float* from) { return *reinterpret_cast<const LooseVec*>(from); }
// Load into a register once: compilers like to read the memory again for each use instead.
inline Vec load_once(const float* from) {
  Vec value = load(from);
#if defined(FLOCKWISE_LANES)
#elif defined(__x86_64__)
  asm("" : "+v"(value));
#elif defined(__aarch64__)
  asm("" : "+w"(value));
#endif
  return value;
}
inline void store(float* to, Vec value) { *reinterpret_cast<LooseVec*>(to) = value; }
template <class Of>
inline Of load_as(const float* from) {
  if constexpr (sizeof(Of) == sizeof(Vec)) return load(from);
  else return *reinterpret_cast<const LooseHalfVec*>(from);
}
inline void store(float* to, HalfVec value) { *reinterpret_cast<LooseHalfVec*>(to) = value; }

inline Vec square_root(Vec value) {
#if defined(__AVX512F__) && !defined(FLOCKWISE_LANES)
  return _mm512_sqrt_ps(value);
#elif defined(__AVX__) && !defined(FLOCKWISE_LANES)
  return _mm256_sqrt_ps(value);
#else
  for (int i = 0; i < LANES; i++) value[i] = __builtin_sqrtf(value[i]);
  return value;
#endif
}

// Small numbers as bytes and back. Compilers like to move them one by one.
inline void store_bytes(uint8_t* to, IntVec value) {
#if defined(__AVX512F__) && !defined(FLOCKWISE_LANES)
  const __m128i bytes = _mm512_cvtepi32_epi8(reinterpret_cast<__m512i>(value));
#elif defined(__AVX2__) && !defined(FLOCKWISE_LANES)
  const __m256i first_bytes = _mm256_set1_epi32(0x0c080400);
  const __m256i packed = _mm256_shuffle_epi8(reinterpret_cast<__m256i>(value), first_bytes);
  const uint64_t low = uint32_t(_mm256_extract_epi32(packed, 0)), high = uint32_t(_mm256_extract_epi32(packed, 4));
  const uint64_t bytes = low | high << 32;
#else
  const ByteVec bytes = __builtin_convertvector(value, ByteVec);
#endif
  std::memcpy(to, &bytes, LANES);
}

inline IntVec load_bytes(const uint8_t* from) {
#if defined(__AVX512F__) && !defined(FLOCKWISE_LANES)
  return reinterpret_cast<IntVec>(_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
#elif defined(__AVX2__) && !defined(FLOCKWISE_LANES)
  return reinterpret_cast<IntVec>(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
#else
  ByteVec bytes;
  std::memcpy(&bytes, from, LANES);
  return __builtin_convertvector(bytes, IntVec);
#endif
}

// The lanes of a and b that pick(i) names, numbered 0 to 2 * LANES - 1.
template <class Pick, int... I>
inline Vec shuffle(Vec a, Vec b, Pick pick, std::integer_sequence<int, I...>) {
#if defined(__clang__)
  return __builtin_shufflevector(a, b, pick(I)...);
#else
  return __builtin_shuffle(a, b, IntVec{pick(I)...});
#endif
}

template <class Pick>
inline Vec shuffle(Vec a, Vec b, Pick pick) {
  return shuffle(a, b, pick, std::make_integer_sequence<int, LANES>{});
}

// Swap rows and columns of a square, in halves, quarters and so on.
template <int HALF = LANES / 2>
inline void transpose(Vec (&square)[LANES]) {
#pragma GCC unroll 16
  for (int row = 0; row < LANES; row++)
    if (!(row & HALF)) {
      const Vec a = square[row], b = square[row + HALF];
      square[row] = shuffle(a, b, [](int i) { return i & HALF ? LANES + i - HALF : i; });
      square[row + HALF] = shuffle(a, b, [](int i) { return i & HALF ? LANES + i : i + HALF; });
    }
  if constexpr (HALF > 1) transpose<HALF / 2>(square);
}

// Add the lanes up until those that are `STOP` apart hold the sums.
template <int STOP, int SHIFT = LANES / 2>
inline Vec fold(Vec v) {
  if constexpr (SHIFT < STOP) return v;
  else return fold<STOP, SHIFT / 2>(v + shuffle(v, v, [](int i) { return (i + SHIFT) % LANES; }));
}

inline float sum(Vec v) { return fold<1>(v)[0]; }

// The sums of four vectors in the first four lanes: a third of the work of summing them one by one.
inline Vec sums(Vec a, Vec b, Vec c, Vec d) {
  const auto first = [](int i) { return i / 4 * 4 + i % 4 / 2 + i % 2 * LANES; };
  const auto second = [](int i) { return i / 4 * 4 + 2 + i % 4 / 2 + i % 2 * LANES; };
  const Vec ab = shuffle(a, b, first) + shuffle(a, b, second), cd = shuffle(c, d, first) + shuffle(c, d, second);
  const auto low = [](int i) { return i / 4 * 4 + i % 2 + (i % 4 < 2 ? 0 : LANES); };
  const auto high = [](int i) { return i / 4 * 4 + 2 + i % 2 + (i % 4 < 2 ? 0 : LANES); };
  return fold<4>(shuffle(ab, cd, low) + shuffle(ab, cd, high));
}

// Ask for rows of weights that will be needed soon: the hardware does not see the next block coming.
FLOCKWISE_INLINE void prefetch(const float* from, int64_t stride, int64_t rows, int64_t floats) {
  for (int64_t row = 0; row < rows; row++)
    for (int64_t i = 0; i < floats; i += 16) __builtin_prefetch(from + row * stride + i, 0, 2);
}

template <int SIZE>
struct Size {
  static constexpr int value = SIZE;
};

// Call body(Size<size>, start) for as many tiles of the same size, one after the other.
template <int MOST, class Body>
inline void for_equal_tiles(int64_t size, int64_t start, int64_t stop, Body body) {
  if constexpr (MOST > 0) {
    if (size != MOST) return for_equal_tiles<MOST - 1>(size, start, stop, body);
    for (; start < stop; start += MOST) body(Size<MOST>{}, start);
  }
}

// Call body(Size<s>, start) for tiles of s <= MOST that cover `count`, as equal in size as can be: a
// small last tile would wait for its own additions.
template <int MOST, class Body>
inline void for_tiles(int64_t count, Body body) {
  const int64_t tiles = (count + MOST - 1) / MOST, size = count / tiles, split = count % tiles * (size + 1);
  for_equal_tiles<MOST>(size + 1, 0, split, body);
  for_equal_tiles<MOST>(size, split, count, body);
}

// Tiles of the product below: up to this many rows, by two vectors (one where only one is left).
constexpr int TILE_ROWS = REGISTERS > 16 ? 8 : 6;

template <class Body>
inline void for_columns(int64_t count, Body body) {
  int64_t column = 0;
  for (; column + 2 * LANES <= count; column += 2 * LANES) body(Size<2>{}, column);
  for (; column < count; column += LANES) body(Size<1>{}, column);
}

// A tile of sums. Its loops are unrolled so that the compiler keeps it in registers throughout.
template <int R, int V, class Of = Vec>
struct Tile {
  static constexpr int64_t WIDE = sizeof(Of) / sizeof(float);
  Of at[R][V];

  // Rows FROM to TO - 1, in this order.
  template <int FROM, int TO, class Value>
  inline void rows(Value value) {
#pragma GCC unroll 12
    for (int r = FROM; r < TO; r++)
#pragma GCC unroll 12
      for (int v = 0; v < V; v++) at[r][v] = value(r, v);
  }
  template <class Value>
  inline void fill(Value value) {
    rows<0, R>(value);
  }
  template <class Take>
  inline void each(Take take) const {
#pragma GCC unroll 12
    for (int r = 0; r < R; r++)
#pragma GCC unroll 12
      for (int v = 0; v < V; v++) take(r, v, at[r][v]);
  }
  inline void clear() {
    fill([](int, int) { return Of{}; });
  }
  inline void load_from(const float* from, int64_t stride) {
    fill([&](int r, int v) { return load_as<Of>(from + r * stride + v * WIDE); });
  }
  inline void store_to(float* to, int64_t stride) const {
    each([&](int r, int v, Of value) { store(to + r * stride + v * WIDE, value); });
  }
};

// total[r][v] += sum over k < depth of left[r * stride + k] * row(k)[v]: the core of all dense products.
template <int R, int V, class Row>
inline void multiply(Tile<R, V>& total, const float* left, int64_t stride, int64_t depth, Row row) {
  for (int64_t k = 0; k < depth; k++) {
    const float* right = row(k);
    Vec b[V];
#pragma GCC unroll 2
    for (int v = 0; v < V; v++) b[v] = load_once(right + v * LANES);
#pragma GCC unroll 12
    for (int r = 0; r < R; r++) {
      const float a = left[r * stride + k];
#pragma GCC unroll 2
      for (int v = 0; v < V; v++) total.at[r][v] += a * b[v];
    }
  }
}

}  // namespace flockwise
