// A linear layer on a batch: forward, backward and update, blocked for the caches.
#pragma once
#include <algorithm>
#include "update.h"

namespace flockwise {

struct Linear {
  int64_t inputs, outputs;  // inputs: padded to a multiple of PAD
  int64_t stride;           // from one row of the weights, [outputs][inputs], to the next
  int64_t weight, bias;     // where they start among the parameters
  bool biased, relu;
};

// Blocks of a few kilobytes that stay in the first-level cache while all rows of the batch pass by.
constexpr int64_t DEPTH_BLOCK = 512, OUTPUT_BLOCK = 32, INPUT_BLOCK = 256;
constexpr int DOT_ROWS = REGISTERS > 16 ? 6 : 4, DOT_COLUMNS = REGISTERS > 16 ? 4 : 3;

// result[b][o] = bias[o] + rows[b] . weights[o], rectified if the layer says so.
inline void forward(const Linear& layer, const float* parameters, const float* const* rows, int64_t batch,
                    float* result, int64_t result_stride) {
  const float* weights = parameters + layer.weight;
  for (int64_t b = 0; b < batch; b++)
    std::memcpy(result + b * result_stride, parameters + layer.bias, layer.outputs * sizeof(float));
  const auto tile = [&](auto r, auto c, int64_t row, int64_t column, int64_t from, int64_t to) {
    constexpr int R = r.value, C = c.value;
    Vec total[R][C] = {};
    for (int64_t k = from; k < to; k += LANES) {
      Vec right[C];
#pragma GCC unroll 4
      for (int j = 0; j < C; j++) right[j] = load(weights + (column + j) * layer.stride + k);
#pragma GCC unroll 6
      for (int i = 0; i < R; i++) {
        const Vec left = load(rows[row + i] + k);
#pragma GCC unroll 4
        for (int j = 0; j < C; j++) total[i][j] += left * right[j];
      }
    }
    for (int i = 0; i < R; i++)
      for (int j = 0; j < C; j++) result[(row + i) * result_stride + column + j] += sum(total[i][j]);
  };
  // With few outputs all weights fit the cache: take the whole depth at once and each sample once.
  const bool few = layer.outputs <= DOT_ROWS * DOT_COLUMNS;
  const int64_t block = few ? layer.inputs : DEPTH_BLOCK;
  for (int64_t from = 0; from < layer.inputs; from += block) {
    const int64_t to = std::min(from + block, layer.inputs);
    if (few)
      for_tiles<DOT_ROWS>(batch, [&](auto r, int64_t row) {
        for_tiles<DOT_COLUMNS>(layer.outputs, [&](auto c, int64_t o) { tile(r, c, row, o, from, to); });
      });
    else
      for_tiles<DOT_COLUMNS>(layer.outputs, [&](auto c, int64_t o) {
        for_tiles<DOT_ROWS>(batch, [&](auto r, int64_t row) { tile(r, c, row, o, from, to); });
      });
  }
  if (layer.relu)
    for (int64_t b = 0; b < batch; b++)
      for (int64_t o = 0; o < layer.outputs; o++) {
        float& value = result[b * result_stride + o];
        value = value < 0 ? 0 : value;  // in this order NaN stays NaN
      }
}

// Gradient of the inputs (unless `back` is null), then the step of the weights, in one pass over them.
//
// gradient is [batch][stride], zero from `outputs` on; transposed is room for [outputs][padded(batch)].
inline void backward(const Linear& layer, const Update& update, const float* const* rows, int64_t batch,
                     const float* gradient, int64_t gradient_stride, float* transposed, float* back,
                     int64_t back_stride) {
  const float* weights = update.weights + layer.weight;
  const int64_t wide = padded(batch);
  for (int64_t b = 0; b < batch; b++)
    for (int64_t o = 0; o < layer.outputs; o++) transposed[o * wide + b] = gradient[b * gradient_stride + o];
  if (back)
    for (int64_t b = 0; b < batch; b++) std::memset(back + b * back_stride, 0, layer.inputs * sizeof(float));

  for (int64_t o = 0; o < layer.outputs && layer.biased; o += LANES) {
    Vec total = {};
    for (int64_t b = 0; b < batch; b++) total += load(gradient + b * gradient_stride + o);
    update.apply(layer.bias + o, total);
  }
  for (int64_t output = 0; output < layer.outputs; output += OUTPUT_BLOCK) {
    const int64_t outputs = std::min(OUTPUT_BLOCK, layer.outputs - output);
    for (int64_t input = 0; input < layer.inputs; input += INPUT_BLOCK) {
      const int64_t inputs = std::min(INPUT_BLOCK, layer.inputs - input);
      const float* block = weights + output * layer.stride + input;
      if (back)
        for_columns(inputs, [&](auto v, int64_t i) {
          for_tiles<TILE_ROWS>(batch, [&](auto r, int64_t b) {
            constexpr int R = r.value, V = v.value;
            float* target = back + b * back_stride + input + i;
            Vec total[R][V];
            for (int x = 0; x < R; x++)
              for (int y = 0; y < V; y++) total[x][y] = load(target + x * back_stride + y * LANES);
            multiply(total, gradient + b * gradient_stride + output, gradient_stride, outputs,
                     [&](int64_t k) { return block + k * layer.stride + i; });
            for (int x = 0; x < R; x++)
              for (int y = 0; y < V; y++) store(target + x * back_stride + y * LANES, total[x][y]);
          });
        });
      for_columns(inputs, [&](auto v, int64_t i) {
        for_tiles<TILE_ROWS>(outputs, [&](auto r, int64_t o) {
          constexpr int R = r.value, V = v.value;
          Vec total[R][V] = {};
          multiply(total, transposed + (output + o) * wide, wide, batch,
                   [&](int64_t k) { return rows[k] + input + i; });
          const int64_t at = layer.weight + (output + o) * layer.stride + input + i;
          for (int x = 0; x < R; x++)
            for (int y = 0; y < V; y++) update.apply(at + x * layer.stride + y * LANES, total[x][y]);
        });
      });
    }
  }
}

}  // namespace flockwise
