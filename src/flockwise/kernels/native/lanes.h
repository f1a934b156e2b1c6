// Vectors as wide as the machine's registers, in GCC/Clang vector extensions: one source for AVX-512, AVX2, SSE, NEON.
#pragma once
#include <cstdint>
#include <cstring>

namespace flockwise {

#if defined(FLOCKWISE_LANES)  // for tests: other widths than this machine's
constexpr int LANES = FLOCKWISE_LANES;
#elif defined(__AVX512F__)
constexpr int LANES = 16;
#elif defined(__AVX__)
constexpr int LANES = 8;
#else
constexpr int LANES = 4;
#endif

typedef float Vec __attribute__((vector_size(LANES * 4)));
typedef float LooseVec __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int32_t Mask __attribute__((vector_size(LANES * 4)));

inline Vec load(const float* from) { return *reinterpret_cast<const LooseVec*>(from); }
inline void store(float* to, Vec value) { *reinterpret_cast<LooseVec*>(to) = value; }
inline Vec smaller(Vec a, Vec b) { return a < b ? a : b; }
inline Vec larger(Vec a, Vec b) { return a > b ? a : b; }
inline Vec absolute(Vec a) { return (Vec)((Mask)a & 0x7fffffff); }

// Lanes that hold NaN or Inf become -1, the others 0.
inline Mask not_finite(Vec a) { return ((Mask)a & 0x7f800000) == 0x7f800000; }
inline bool any(Mask mask) {
  int32_t found = 0;
  for (int lane = 0; lane < LANES; lane++) found |= mask[lane];
  return found != 0;
}

}  // namespace flockwise
