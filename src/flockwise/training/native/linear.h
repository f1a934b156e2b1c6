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
constexpr int64_t DEPTH_BLOCK = 512, OUTPUT_BLOCK = 48, INPUT_BLOCK = 128;
constexpr int DOT_ROWS = REGISTERS > 16 ? 6 : 3, DOT_COLUMNS = 4;
constexpr int64_t GROUP = 2 * DOT_COLUMNS;

// result[b][o] = bias[o] + rows[b] . weights[o], rectified if the layer says so.
inline void forward(const Linear& layer, const float* parameters, const float* const* rows, int64_t batch,
                    float* result, int64_t result_stride) {
  const float* weights = parameters + layer.weight;
  for (int64_t b = 0; b < batch; b++)
    std::memcpy(result + b * result_stride, parameters + layer.bias, layer.outputs * sizeof(float));
  const int64_t block = layer.inputs <= 2 * DEPTH_BLOCK ? layer.inputs : DEPTH_BLOCK;
  const int64_t group = layer.outputs <= 2 * GROUP ? layer.outputs : GROUP;
  const auto tile = [&](auto r, auto c, int64_t row, int64_t column, int64_t from, int64_t to) {
    constexpr int R = r.value, C = c.value;
    Tile<R, C> total;
    total.clear();
    const float *left_rows[R], *right_rows = weights + column * layer.stride;
#pragma GCC unroll 6
    for (int i = 0; i < R; i++) left_rows[i] = rows[row + i];
    const int64_t ahead = row ? 0 : group * layer.stride;  // the first of the batch ask for the next group's weights
    for (int64_t k = from; k < to; k += LANES) {
      Vec left[R];
#pragma GCC unroll 6
      for (int i = 0; i < R; i++) left[i] = load_once(left_rows[i] + k);
#pragma GCC unroll 4
      for (int j = 0; j < C; j++) {
        if (LANES == 16 || k % 16 == 0) __builtin_prefetch(right_rows + j * layer.stride + k + ahead, 0, 2);
        const Vec right = load_once(right_rows + j * layer.stride + k);
#pragma GCC unroll 6
        for (int i = 0; i < R; i++) total.at[i][j] += left[i] * right;
      }
    }
#pragma GCC unroll 6
    for (int i = 0; i < R; i++) {
      float* target = result + (row + i) * result_stride + column;
      if constexpr (C == 4) {
        const Vec four = sums(total.at[i][0], total.at[i][1], total.at[i][2], total.at[i][3]);
        for (int j = 0; j < C; j++) target[j] += four[j];
      } else {
        for (int j = 0; j < C; j++) target[j] += sum(total.at[i][j]);
      }
    }
  };
  for (int64_t from = 0; from < layer.inputs; from += block) {
    const int64_t to = std::min(from + block, layer.inputs);
    for (int64_t output = 0; output < layer.outputs; output += group) {
      const int64_t outputs = std::min(group, layer.outputs - output);
      for_tiles<DOT_ROWS>(batch, [&](auto r, int64_t row) {
        for_tiles<DOT_COLUMNS>(outputs, [&](auto c, int64_t o) { tile(r, c, row, output + o, from, to); });
      });
    }
  }
  if (layer.relu)
    for (int64_t b = 0; b < batch; b++)
      for (int64_t o = 0; o < layer.outputs; o++) {
        float& value = result[b * result_stride + o];
        value = value < 0 ? 0 : value;  // in this order NaN stays NaN
      }
}

inline void update_bias(const Linear& layer, const Update& update, int64_t batch, const float* gradient,
                        int64_t gradient_stride) {
  if (!layer.biased) return;
  update.with_step([&](auto step) {
    for (int64_t o = 0; o < layer.outputs; o += LANES) {
      Vec total = {};
      for (int64_t b = 0; b < batch; b++) total += load(gradient + b * gradient_stride + o);
      step(layer.bias + o, total);
    }
  });
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

  update_bias(layer, update, batch, gradient, gradient_stride);
  for (int64_t output = 0; output < layer.outputs; output += OUTPUT_BLOCK) {
    const int64_t outputs = std::min(OUTPUT_BLOCK, layer.outputs - output);
    for (int64_t input = 0; input < layer.inputs; input += INPUT_BLOCK) {
      const int64_t inputs = std::min(INPUT_BLOCK, layer.inputs - input);
      const float* block = weights + output * layer.stride + input;
      const bool last = input + inputs == layer.inputs;
      const float* next = last ? weights + (output + outputs) * layer.stride : block + inputs;
      if (back)
        for_columns(inputs, [&](auto v, int64_t i) {
          for_tiles<TILE_ROWS>(batch, [&](auto r, int64_t b) {
            constexpr int R = r.value, V = v.value;
            float* target = back + b * back_stride + input + i;
            Tile<R, V> total;
            total.load_from(target, back_stride);
            multiply(total, gradient + b * gradient_stride + output, gradient_stride, outputs,
                     [&](int64_t k) { return block + k * layer.stride + i; });
            total.store_to(target, back_stride);
          });
        });
      for_columns(inputs, [&](auto v, int64_t i) {
        for_tiles<TILE_ROWS>(outputs, [&](auto r, int64_t o) {
          constexpr int R = r.value, V = v.value;
          Tile<R, V> total;
          total.clear();
          multiply(total, transposed + (output + o) * wide, wide, batch,
                   [&](int64_t k) { return rows[k] + input + i; });
          const int64_t at = layer.weight + (output + o) * layer.stride + input + i;
          prefetch(next + o * layer.stride + i, layer.stride, R, V * LANES);
          update.with_step([&](auto step) {
            total.each([&](int x, int y, Vec sum) { step(at + x * layer.stride + y * LANES, sum); });
          });
        });
      });
    }
  }
}

}  // namespace flockwise
