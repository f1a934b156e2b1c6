// Layers as the caller describes them, and torch's weights in the layout of the kernels.
#pragma once
#include "convolution.h"

namespace flockwise {

// One layer as the caller describes it; `weight` and `bias` say where torch's tensors start in the vector.
struct LayerSpec {
  int64_t convolution;              // 1, or 0 for a linear layer
  int64_t channels, height, width;  // of the input; a linear layer flattens it
  int64_t outputs, kernel, padding, relu, pool;
  int64_t weight, bias;  // bias: -1 if there is none
};

// Channels of the images themselves are not padded.
inline Convolution convolution_of(const LayerSpec& spec, bool of_images) {
  Convolution conv;
  conv.height = spec.height + 2 * spec.padding;
  conv.width = spec.width + 2 * spec.padding;
  conv.kernel = spec.kernel;
  conv.channels = of_images ? spec.channels : padded(spec.channels);
  conv.outputs = padded(spec.outputs);
  conv.pool = spec.pool;
  conv.relu = spec.relu;
  return conv;
}

// Where the first pixel that is not padding starts in a plane.
inline int64_t inner_of(const LayerSpec& spec, const Convolution& conv) {
  return spec.padding * (conv.row() + conv.channels);
}

// Call visit(place in torch's tensor, place in [outputs][taps()]) for every weight of a convolution.
template <class Visit>
inline void visit_weights(const LayerSpec& spec, const Convolution& conv, Visit visit) {
  int64_t from = 0;
  for (int64_t o = 0; o < spec.outputs; o++)
    for (int64_t c = 0; c < spec.channels; c++)
      for (int64_t k = 0; k < conv.kernel; k++)
        for (int64_t pixel = 0; pixel < conv.kernel; pixel++)
          visit(from++, o * conv.taps() + k * conv.kernel_row() + pixel * conv.channels + c);
}

}  // namespace flockwise
