// Convolution, rectifier and 2x2 maximum of one image, product by product.
#pragma once
#include "convolution.h"

namespace flockwise {

// The convolution as it is written down; windows never leave the registers.
class Direct {
 public:
  explicit Direct(const Convolution& conv) : conv_(conv) {}

  // Both in floats.
  int64_t weights() const { return conv_.taps() * conv_.outputs; }
  int64_t workspace() const { return 0; }

  // From [taps][outputs] to the order that `forward` wants, here the same.
  void pack(const float* from, float* packed) const { std::memcpy(packed, from, weights() * sizeof(float)); }

  template <class Sink>
  void forward(const float* packed, const float* bias, const float* plane, float*, const Sink& maxima) const {
    constexpr int MOST = REGISTERS > 16 ? 2 : 1;  // windows whose pixels fit in registers
    if (conv_.pool == 2) forward_of<2, MOST>(packed, bias, plane, maxima);
    else forward_of<1, TILE_ROWS>(packed, bias, plane, maxima);
  }

 private:
  template <int POOL, int MOST, class Sink>
  void forward_of(const float* packed, const float* bias, const float* plane, const Sink& maxima) const {
    for_columns(conv_.outputs, [&](auto v, int64_t output) {
      for (int64_t y = 0; y < conv_.pooled_height(); y++)
        for_tiles<MOST>(conv_.pooled_width(), [&](auto w, int64_t x) {
          const Convolution conv = conv_;  // copies: by reference they would be loaded again behind every store
          const Sink sink = maxima;
          const float* corner = plane + y * POOL * conv_.row() + x * POOL * conv_.channels;
          windows<POOL, w.value, v.value>(packed + output, bias + output, corner, [&](int i, int64_t lane, auto pixel) {
            sink.put(conv, y, x + i, output + lane, pixel);
          });
        });
    });
  }

  // W windows of POOL x POOL pixels side by side, for V vectors of outputs.
  template <int POOL, int W, int V, class Put>
  FLOCKWISE_INLINE void windows(const float* weights, const float* bias, const float* corner, Put put) const {
    constexpr int AREA = POOL * POOL;
    Tile<W * AREA, V> total;
    total.load_from(bias, 0);
    const int64_t gap = (conv_.kernel_row() - conv_.depth()) * conv_.outputs;
    for (int64_t k = 0; k < conv_.kernel; k++, corner += conv_.row(), weights += gap)
      for (int64_t tap = 0; tap < conv_.depth(); tap++, weights += conv_.outputs) {
        Vec right[V];
#pragma GCC unroll 2
        for (int v = 0; v < V; v++) right[v] = load_once(weights + v * LANES);
#pragma GCC unroll 12
        for (int i = 0; i < W * AREA; i++) {
          const int down = i % AREA / POOL, across = i / AREA * POOL + i % POOL;
          const float left = corner[down * conv_.row() + across * conv_.channels + tap];
#pragma GCC unroll 2
          for (int v = 0; v < V; v++) total.at[i][v] += left * right[v];
        }
      }
#pragma GCC unroll 8
    for (int w = 0; w < W; w++)
#pragma GCC unroll 2
      for (int v = 0; v < V; v++)
        put(w, v * LANES, [&](int i) { return total.at[w * AREA + i][v]; });
  }

  Convolution conv_;
};

}  // namespace flockwise
