// The backward pass of a linear layer behind a rectifier, which stops about half of the gradients.
//
// Lists of those that are left, once by sample and once by output, halve the products of the dense `backward`.
#pragma once
#include "linear.h"
#include "lists.h"

namespace flockwise {

constexpr int WIDE = 12;  // vectors in a tile of one row: all registers but those for the operands
constexpr int64_t LIST_BLOCK = 48;

// Lists that lie end to end: list i is entries[starts[i]] up to entries[starts[i + 1]].
struct LinearLists {
  Entry *by_sample, *by_output;            // [block of outputs][sample] and [output]; room for batch * outputs
  int32_t *sample_starts, *output_starts;  // one more than there are lists

  static int64_t starts(int64_t batch, int64_t outputs) { return (outputs / LIST_BLOCK + 1) * batch + outputs + 2; }
};

inline void collect(const Linear& layer, const float* gradient, int64_t stride, int64_t batch,
                    const LinearLists& lists) {
  Entry* entry = lists.by_sample;
  int32_t* start = lists.sample_starts;
  const auto add = [&](int64_t b, int64_t o, int64_t place) {
    const float* value = gradient + b * stride + o;
    write(entry, value, int32_t(place));
    entry += *value != 0;
  };
  *start = 0;
  for (int64_t first = 0; first < layer.outputs; first += LIST_BLOCK)
    for (int64_t b = 0; b < batch; b++) {
      for (int64_t o = first; o < std::min(first + LIST_BLOCK, layer.outputs); o++) add(b, o, o - first);
      *++start = int32_t(entry - lists.by_sample);
    }
  entry = lists.by_output;
  start = lists.output_starts;
  *start = 0;
  for (int64_t o = 0; o < layer.outputs; o++) {
    for (int64_t b = 0; b < batch; b++) add(b, o, b);
    *++start = int32_t(entry - lists.by_output);
  }
}

// As the dense `backward`.
inline void backward_sparse(const Linear& layer, const Update& update, const float* const* rows, int64_t batch,
                            const float* gradient, int64_t gradient_stride, const LinearLists& lists, float* back,
                            int64_t back_stride) {
  collect(layer, gradient, gradient_stride, batch, lists);
  update_bias(layer, update, batch, gradient, gradient_stride);
  // Blocks of weights that stay in the first-level cache while they give to `back` and then are updated.
  update.with_step([&](auto step) {
    for (int64_t output = 0, block = 0; output < layer.outputs; output += LIST_BLOCK, block++)
      for_tiles<WIDE>(layer.inputs / LANES, [&](auto v, int64_t vector) {
        constexpr int V = v.value;
        const auto move = step;  // a copy: by reference it would be loaded again behind every store
        const int64_t input = vector * LANES, at = layer.weight + output * layer.stride + input;
        const bool last = input + V * LANES == layer.inputs;
        const int64_t next = last ? LIST_BLOCK * layer.stride - input : V * LANES;  // how far it is to the next tile
        for (int64_t b = 0; b < batch && back; b++) {
          const int32_t* start = lists.sample_starts + block * batch + b;
          float* target = back + b * back_stride + input;
          Tile<1, V> total;
          if (output) total.load_from(target, 0);
          else total.clear();
          add_rows(total, lists.by_sample + start[0], lists.by_sample + start[1],
                   [&](int32_t o) { return update.weights + at + o * layer.stride; });
          total.store_to(target, 0);
        }
        for (int64_t o = 0; o < std::min(LIST_BLOCK, layer.outputs - output); o++) {
          const int32_t* start = lists.output_starts + output + o;
          if (start[0] == start[1] && update.plain) continue;  // what nobody moves need not come from memory
          const int64_t row = at + o * layer.stride;
          update.prefetch(row + next, V * LANES);
          Tile<1, V> total;
          total.clear();
          add_rows(total, lists.by_output + start[0], lists.by_output + start[1],
                   [&](int32_t b) { return rows[b] + input; });
          total.each([&](int, int i, Vec sum) { move(row + i * LANES, sum); });
        }
      });
  });
}

}  // namespace flockwise
