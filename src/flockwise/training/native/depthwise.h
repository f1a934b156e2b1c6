// A 3x3 convolution of each channel with itself, on PAD channels of one image at a time.
#pragma once
#include "normalisation.h"

namespace flockwise {

constexpr int TAPS = 9;

struct Depthwise {
  int64_t channels, height, width, stride;

  int64_t out_height() const { return (height - 1) / stride + 1; }
  int64_t out_width() const { return (width - 1) / stride + 1; }
  int64_t line() const { return (width + 2) * PAD; }  // of an image with a border of zeros
  int64_t bordered() const { return (height + 2) * line(); }
  int64_t corner(int64_t y, int64_t x) const { return y * stride * line() + x * stride * PAD; }
  int64_t tap(int t) const { return t / 3 * line() + t % 3 * PAD; }
  Depthwise after() const { return {channels, out_height(), out_width(), 1}; }
};

// The image inside its border, columns(lane)(pixel); the border is left alone.
template <class Columns, int... V>
inline void fill_bordered(const Depthwise& conv, float* image, Columns columns, std::integer_sequence<int, V...>) {
  const decltype(columns(0)) column[] = {columns(V * LANES)...};
  for (int64_t y = 0; y < conv.height; y++) {
    float* line = image + (y + 1) * conv.line() + PAD;
    for (int64_t x = 0; x < conv.width; x++)
      (store(line + x * PAD + V * LANES, column[V](y * conv.width + x)), ...);
  }
}

template <class Columns>
inline void fill_bordered(const Depthwise& conv, float* image, Columns columns) {
  fill_bordered(conv, image, columns, std::make_integer_sequence<int, GROUP_VECTORS>{});
}

// weights and results point to the first of the channels: taps and pixels are `channels` numbers apart.
// Turned around, the weights take gradients back, if the stride is 1.
template <bool TURNED = false>
inline void forward(const Depthwise& conv, const float* image, const float* weights, float* results) {
#pragma GCC unroll 4
  for (int v = 0; v < GROUP_VECTORS; v++) {
    Vec taps[TAPS];
#pragma GCC unroll 9
    for (int t = 0; t < TAPS; t++)
      taps[t] = load_once(weights + (TURNED ? TAPS - 1 - t : t) * conv.channels + v * LANES);
    float* result = results + v * LANES;
    for (int64_t y = 0; y < conv.out_height(); y++)
      for (int64_t x = 0; x < conv.out_width(); x++, result += conv.channels) {
        const float* pixels = image + conv.corner(y, x) + v * LANES;
        Vec rows[3];  // added up side by side, since additions wait for one another
#pragma GCC unroll 3
        for (int i = 0; i < 3; i++) {
          rows[i] = taps[3 * i] * load(pixels + conv.tap(3 * i));
          rows[i] += taps[3 * i + 1] * load(pixels + conv.tap(3 * i + 1));
          rows[i] += taps[3 * i + 2] * load(pixels + conv.tap(3 * i + 2));
        }
        store(result, rows[0] + rows[1] + rows[2]);
      }
  }
}

// Add to the gradients of the weights; `gradient` has a border like the image.
inline void backward_weights(const Depthwise& conv, const float* image, const float* gradient, float* weights) {
#pragma GCC unroll 4
  for (int v = 0; v < GROUP_VECTORS; v++) {
    Vec totals[TAPS];
#pragma GCC unroll 9
    for (int t = 0; t < TAPS; t++) totals[t] = load(weights + t * conv.channels + v * LANES);
    for (int64_t y = 0; y < conv.out_height(); y++) {
      const float* from = gradient + (y + 1) * conv.after().line() + PAD + v * LANES;
      for (int64_t x = 0; x < conv.out_width(); x++, from += PAD) {
        const float* pixels = image + conv.corner(y, x) + v * LANES;
        const Vec slope = load_once(from);
#pragma GCC unroll 9
        for (int t = 0; t < TAPS; t++) totals[t] += slope * load(pixels + conv.tap(t));
      }
    }
#pragma GCC unroll 9
    for (int t = 0; t < TAPS; t++) store(weights + t * conv.channels + v * LANES, totals[t]);
  }
}

// The gradient of the image for stride 2, four pixels at a time: even lines and columns are met by the middle taps
// alone, odd ones by the outer taps of the gradients on both sides.
inline void backward_halved(const Depthwise& conv, const float* weights, const float* gradient, float* results) {
  const int64_t line = conv.after().line(), below = conv.width * conv.channels, beside = conv.channels;
#pragma GCC unroll 4
  for (int v = 0; v < GROUP_VECTORS; v++) {
    Vec tap[TAPS];
#pragma GCC unroll 9
    for (int t = 0; t < TAPS; t++) tap[t] = load_once(weights + t * conv.channels + v * LANES);
    for (int64_t y = 0; y < conv.out_height(); y++)
      for (int64_t x = 0; x < conv.out_width(); x++) {
        const float* from = gradient + (y + 1) * line + (x + 1) * PAD + v * LANES;
        float* result = results + 2 * y * below + 2 * x * beside + v * LANES;
        const Vec here = load(from), right = load(from + PAD), down = load(from + line), far = load(from + line + PAD);
        const bool wide = 2 * x + 1 < conv.width, high = 2 * y + 1 < conv.height;
        store(result, tap[4] * here);
        if (wide) store(result + beside, tap[5] * here + tap[3] * right);
        if (high) store(result + below, tap[7] * here + tap[1] * down);
        if (wide && high) store(result + below + beside, tap[8] * here + tap[6] * right + tap[2] * down + tap[0] * far);
      }
  }
}

}  // namespace flockwise
