// Convolution, rectifier and 2x2 maximum of one image for testing a model: nobody asks which pixel was chosen.
#pragma once
#include "convolution.h"

namespace flockwise {

// Where the maxima of an image go, rows `stride` apart.
struct Maxima {
  float* values;
  int64_t stride;
};

// Rectifier and maximum of a window whose pixel i is pixel(i).
template <class Pixel>
inline Vec window_maximum(const Convolution& conv, Pixel pixel) {
  Vec most = pixel(0);
  if (conv.pool == 2)
#pragma GCC unroll 3
    for (int i = 1; i < 4; i++) {
      const Vec other = pixel(i);
      most = other > most ? other : most;
    }
  if (conv.relu) most = most < 0.0f ? Vec{} : most;  // in this order NaN stays NaN
  return most;
}

// The convolution as it is written down; windows never leave the registers.
class DirectEvaluation {
 public:
  explicit DirectEvaluation(const Convolution& conv) : conv_(conv) {}

  // Both in floats.
  int64_t weights() const { return conv_.kernel * conv_.depth() * conv_.outputs; }
  int64_t workspace() const { return 0; }

  // From [kernel][kernel][channels][outputs] to the order that `forward` wants, here the same.
  void pack(const float* from, float* packed) const { std::memcpy(packed, from, weights() * sizeof(float)); }

  void forward(const float* packed, const float* bias, const float* plane, float*, const Maxima& maxima) const {
    constexpr int MOST = REGISTERS > 16 ? 2 : 1;  // windows whose pixels fit in registers
    if (conv_.pool == 2) forward_of<2, MOST>(packed, bias, plane, maxima);
    else forward_of<1, TILE_ROWS>(packed, bias, plane, maxima);
  }

 private:
  template <int POOL, int MOST>
  void forward_of(const float* packed, const float* bias, const float* plane, const Maxima& maxima) const {
    for_columns(conv_.outputs, [&](auto v, int64_t output) {
      for (int64_t y = 0; y < conv_.pooled_height(); y++)
        for_tiles<MOST>(conv_.pooled_width(), [&](auto w, int64_t x) {
          windows<POOL, w.value, v.value>(packed + output, bias + output,
                                          plane + y * POOL * conv_.row() + x * POOL * conv_.channels,
                                          maxima.values + y * maxima.stride + x * conv_.outputs + output);
        });
    });
  }

  // W windows of POOL x POOL pixels side by side, for V vectors of outputs.
  template <int POOL, int W, int V>
  void windows(const float* weights, const float* bias, const float* corner, float* values) const {
    constexpr int AREA = POOL * POOL;
    Tile<W * AREA, V> total;
    total.load_from(bias, 0);
    for (int64_t k = 0; k < conv_.kernel; k++, corner += conv_.row())
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
        store(values + w * conv_.outputs + v * LANES,
              window_maximum(conv_, [&](int i) { return total.at[w * AREA + i][v]; }));
  }

  Convolution conv_;
};

}  // namespace flockwise
