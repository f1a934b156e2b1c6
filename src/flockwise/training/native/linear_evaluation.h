// A linear layer for testing a model: its weights are arranged once for many batches.
#pragma once
#include <algorithm>
#include "vectors.h"

namespace flockwise {

struct LinearEvaluation {
  int64_t pixels, channels, stride;  // a row is [pixels][stride], of which `channels` count
  int64_t outputs;                   // padded to PAD below
  bool relu;

  int64_t inputs() const { return pixels * stride; }
  int64_t weights() const { return inputs() * padded(outputs); }

  // From torch's [outputs][channels][pixels] to [inputs][outputs of a group] for one group after the other;
  // packed starts as zeros.
  void pack(const float* from, float* packed) const {
    for_columns(padded(outputs), [&](auto v, int64_t output) {
      constexpr int64_t WIDE = v.value * LANES;
      const int64_t row = channels * pixels;
      const auto copy = [&](auto columns) {
        for (int64_t c = 0; c < channels; c++)
          for (int64_t p = 0; p < pixels; p++)
            for (int64_t o = 0; o < columns; o++)
              packed[output * inputs() + (p * stride + c) * WIDE + o] = from[(output + o) * row + c * pixels + p];
      };
      if (output + WIDE <= outputs) copy(std::integral_constant<int64_t, WIDE>{});
      else copy(outputs - output);
    });
  }

  // result[b][o] = bias[o] + row b . weights of o, rectified if `relu` says so.
  void forward(const float* packed, const float* bias, const float* rows, int64_t rows_stride, int64_t batch,
               float* result, int64_t result_stride) const {
    // So many inputs' weights of a group stay in the first-level cache. A single group had better see each row once.
    const int64_t most = outputs <= PAD ? inputs() : 256;
    for (int64_t from = 0; from < inputs(); from += most) {
      const int64_t depth = std::min(most, inputs() - from);
      const bool rectify = relu && from + depth == inputs();
      for_columns(padded(outputs), [&](auto v, int64_t output) {
        constexpr int64_t WIDE = v.value * LANES;
        const float* weights = packed + output * inputs() + from * WIDE;
        for_tiles<TILE_ROWS>(batch, [&](auto r, int64_t b) {
          float* target = result + b * result_stride + output;
          Tile<r.value, v.value> total;
          if (from) total.load_from(target, result_stride);
          else total.load_from(bias + output, 0);
          multiply(total, rows + b * rows_stride + from, rows_stride, depth,
                   [&](int64_t k) { return weights + k * WIDE; });
          if (rectify)  // in this order NaN stays NaN
            total.fill([&](int i, int j) { return total.at[i][j] < 0.0f ? Vec{} : total.at[i][j]; });
          total.store_to(target, result_stride);
        });
      });
    }
  }
};

}  // namespace flockwise
