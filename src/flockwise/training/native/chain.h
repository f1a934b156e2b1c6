// Layers of convolution, batch normalisation and rectifier, one behind the other: a training step of all of them.
//
// Only what convolutions give is kept. Whoever needs it normalises and rectifies it on the way in, and whoever makes a
// gradient sums up what the normalisation before needs to know: memory is gone through as seldom as can be.
#pragma once
#include <vector>
#include "buffer.h"
#include "depthwise.h"
#include "rows.h"

namespace flockwise {

// One layer as the caller describes it; images have their channels last.
struct ChainLayer {
  int64_t depthwise;                // 1: 3x3, each channel for itself; 0: all channels
  int64_t channels, height, width;  // of the input
  int64_t outputs, kernel, stride;  // padded so that stride 1 keeps the size; dense beyond the first: 1x1, stride 1
  const float* weights;             // [outputs][kernel * kernel][channels], depthwise: [channels][9]
  Normalisation norm;
  // Backward: factor times the gradients is added to these, which are zeros, or with minus the learning rate the
  // parameters themselves.
  float *weight_target, *norm_weight_target, *norm_bias_target;
  double factor;

  int64_t out_height() const { return (height - 1) / stride + 1; }
  int64_t out_width() const { return (width - 1) / stride + 1; }
  int64_t pixels() const { return out_height() * out_width(); }
  int64_t depth() const { return kernel * kernel * channels; }
  Depthwise shape() const { return {channels, height, width, stride}; }
};

class Chain {
 public:
  // memory: of `floats` numbers, which go from the forward pass to the backward pass
  Chain(const ChainLayer* layers, int64_t count, int64_t batch, const float* images, float* memory);
  static int64_t floats(const ChainLayer* layers, int64_t count, int64_t batch);

  void forward(float* result);
  // back: where the gradient of the images goes, or null
  void backward(const float* gradient, float* back);

 private:
  struct Gradient {
    NormalisationGradient norm;
    Buffer<double> sums;
    Buffer<float> coefficients;
  };

  int64_t rows(size_t l) const { return batch_ * layers_[l].pixels(); }
  Activated below(size_t l) const;
  void forward_dense(size_t l, Moments& moments);
  void forward_depthwise(size_t l, Moments& moments);
  void backward_dense(size_t l, const Gradient& own, Gradient* next, const float* gradient, float* back);
  void backward_depthwise(size_t l, const Gradient& own, Gradient* next, const float* gradient, float* back);
  void gather(size_t l, int64_t first, int64_t count, float* block, int64_t stride) const;
  Buffer<float> taps_of(size_t l) const;
  Gradient gradient_of(size_t l) const;

  std::vector<ChainLayer> layers_;
  int64_t batch_;
  const float* images_;
  std::vector<float*> values_;  // of each layer, before normalisation: [rows][outputs]
  std::vector<Channels> channels_;
};

inline int64_t Chain::floats(const ChainLayer* layers, int64_t count, int64_t batch) {
  int64_t total = 0;
  for (const ChainLayer* layer = layers; layer < layers + count; layer++)
    total += (batch * layer->pixels() + Channels::NUMBERS) * layer->outputs;
  return total;
}

inline Chain::Chain(const ChainLayer* layers, int64_t count, int64_t batch, const float* images, float* memory)
    : layers_(layers, layers + count), batch_(batch), images_(images) {
  for (const ChainLayer& layer : layers_) {
    values_.push_back(memory);
    memory += batch * layer.pixels() * layer.outputs;
    channels_.push_back(Channels::at(memory, layer.outputs));
    memory += Channels::NUMBERS * layer.outputs;
  }
}

// What the convolution of a layer sees.
inline Activated Chain::below(size_t l) const {
  if (l == 0) return {images_, layers_[0].channels, {}};
  return {values_[l - 1], layers_[l].channels, channels_[l - 1]};
}

// What a dense convolution multiplies with its weights, pixel by pixel.
inline void Chain::gather(size_t l, int64_t first, int64_t count, float* block, int64_t stride) const {
  const ChainLayer& layer = layers_[l];
  if (layer.kernel == 1 && layer.channels % PAD == 0) {
    const Activated source = below(l);
    return fill_rows(block, stride, first, count, layer.channels, [&](int64_t c) { return source.column(c); });
  }
  for (int64_t r = 0; r < count; r++) {
    const int64_t b = (first + r) / layer.pixels(), pixel = (first + r) % layer.pixels();
    const int64_t top = pixel / layer.out_width() * layer.stride - layer.kernel / 2;
    const int64_t left = pixel % layer.out_width() * layer.stride - layer.kernel / 2;
    float* to = block + r * stride;
    for (int64_t y = top; y < top + layer.kernel; y++)
      for (int64_t x = left; x < left + layer.kernel; x++, to += layer.channels) {
        const bool inside = y >= 0 && y < layer.height && x >= 0 && x < layer.width;
        const float* from = images_ + ((b * layer.height + y) * layer.width + x) * layer.channels;
        for (int64_t c = 0; c < layer.channels; c++) to[c] = inside ? from[c] : 0;
      }
  }
}

// The weights of a depthwise convolution, tap by tap.
inline Buffer<float> Chain::taps_of(size_t l) const {
  const ChainLayer& layer = layers_[l];
  Buffer<float> taps(TAPS * layer.channels, false);
  for (int64_t c = 0; c < layer.channels; c++)
    for (int t = 0; t < TAPS; t++) taps[t * layer.channels + c] = layer.weights[c * TAPS + t];
  return taps;
}

inline void Chain::forward_dense(size_t l, Moments& moments) {
  const ChainLayer& layer = layers_[l];
  const int64_t depth = layer.depth(), stride = spread(depth);
  Buffer<float> packed(packed_floats(depth, layer.outputs), false), block(ROW_BLOCK * stride, false);
  pack_transposed(layer.weights, depth, layer.outputs, packed);
  for_row_blocks(rows(l), [&](int64_t first, int64_t count) {
    gather(l, first, count, block, stride);
    float* results = values_[l] + first * layer.outputs;
    multiply_rows(block, stride, count, depth, packed, layer.outputs, results);
    moments.add(results, count);
  });
}

inline void Chain::forward_depthwise(size_t l, Moments& moments) {
  const Depthwise conv = layers_[l].shape();
  const int64_t pixels = layers_[l].pixels(), together = std::max<int64_t>(1, ROW_BLOCK / pixels);
  Activated source = below(l);
  Buffer<float> image(conv.bordered()), taps = taps_of(l);
  for (int64_t b = 0; b < batch_; b++, source.values += conv.height * conv.width * conv.channels) {
    float* results = values_[l] + b * pixels * conv.channels;
    for (int64_t c = 0; c < conv.channels; c += PAD) {
      fill_bordered(conv, image, [&](int64_t lane) { return source.column(c + lane); });
      flockwise::forward(conv, image, taps + c, results + c);
    }
    const int64_t ready = b % together + 1;
    if (ready == together || b + 1 == batch_)
      moments.add(results - (ready - 1) * pixels * conv.channels, ready * pixels);
  }
}

inline void Chain::forward(float* result) {
  for (size_t l = 0; l < layers_.size(); l++) {
    Buffer<double> room(2 * layers_[l].outputs);
    Moments moments{layers_[l].outputs, 0, room, room + layers_[l].outputs};
    if (layers_[l].depthwise) forward_depthwise(l, moments);
    else forward_dense(l, moments);
    layers_[l].norm.finish(moments, channels_[l]);
  }
  const size_t last = layers_.size() - 1;
  const int64_t outputs = layers_[last].outputs;
  const Activated activated{values_[last], outputs, channels_[last]};
  fill_rows(result, outputs, 0, rows(last), outputs, [&](int64_t c) { return activated.column(c); });
}

inline Chain::Gradient Chain::gradient_of(size_t l) const {
  const int64_t count = layers_[l].outputs;
  Gradient gradient{{}, Buffer<double>(NormalisationGradient::DOUBLES * count),
                    Buffer<float>(NormalisationGradient::FLOATS * count)};
  double* sums = gradient.sums;
  float* numbers = gradient.coefficients;
  gradient.norm = {count, channels_[l], sums, sums + count, numbers, numbers + count, numbers + 2 * count};
  return gradient;
}

inline void Chain::backward_dense(size_t l, const Gradient& own, Gradient* next, const float* gradient, float* back) {
  const ChainLayer& layer = layers_[l];
  const int64_t depth = layer.depth(), outputs = layer.outputs, wide = padded(depth);
  const int64_t left_stride = spread(outputs), right_stride = spread(depth);
  Buffer<float> left(ROW_BLOCK * left_stride, false), right(ROW_BLOCK * right_stride, wide > depth);
  Buffer<float> packed(back ? packed_floats(outputs, depth) : 0, false), ragged(wide > depth ? outputs * wide : 0);
  float* weights = wide > depth ? static_cast<float*>(ragged) : layer.weight_target;
  if (back) pack_strips(layer.weights, outputs, depth, packed);
  for_row_blocks(rows(l), [&](int64_t first, int64_t count) {
    fill_rows(left, left_stride, first, count, outputs,
              [&](int64_t c) { return own.norm.column(values_[l], gradient, c); });
    if (back) multiply_rows(left, left_stride, count, outputs, packed, depth, back + first * depth);
    if (next) next->norm.add(values_[l - 1] + first * depth, back + first * depth, count);
    gather(l, first, count, right, right_stride);
    add_outer(left, left_stride, right, right_stride, count, outputs, wide, float(layer.factor), weights);
  });
  for (int64_t o = 0; o < outputs && wide > depth; o++)
    for (int64_t k = 0; k < depth; k++) layer.weight_target[o * depth + k] += weights[o * wide + k];
}

inline void Chain::backward_depthwise(size_t l, const Gradient& own, Gradient* next, const float* gradient,
                                      float* back) {
  const ChainLayer& layer = layers_[l];
  const Depthwise conv = layer.shape();
  const int64_t pixels = layer.pixels(), area = conv.height * conv.width;
  const int64_t together = std::max<int64_t>(1, ROW_BLOCK / area);
  Activated source = below(l);
  const float* values = values_[l];
  Buffer<float> image(conv.bordered()), slopes(conv.after().bordered());
  Buffer<float> weight_gradient(TAPS * conv.channels), taps = taps_of(l);
  for (int64_t b = 0; b < batch_; b++) {
    float* target = back ? back + b * area * conv.channels : nullptr;
    for (int64_t c = 0; c < conv.channels; c += PAD) {
      fill_bordered(conv.after(), slopes,
                    [&](int64_t lane) { return own.norm.column(values, gradient, c + lane); });
      fill_bordered(conv, image, [&](int64_t lane) { return source.column(c + lane); });
      backward_weights(conv, image, slopes, weight_gradient + c);
      if (back && conv.stride == 1) flockwise::forward<true>(conv, slopes, taps + c, target + c);
      if (back && conv.stride == 2) backward_halved(conv, taps + c, slopes, target + c);
    }
    const int64_t ready = b % together + 1, first = (b + 1 - ready) * area * conv.channels;
    if (next && (ready == together || b + 1 == batch_))
      next->norm.add(values_[l - 1] + first, back + first, ready * area);
    source.values += area * conv.channels;
    values += pixels * conv.channels;
    gradient += pixels * conv.channels;
  }
  for (int64_t c = 0; c < conv.channels; c++)
    for (int t = 0; t < TAPS; t++)
      layer.weight_target[c * TAPS + t] += float(layer.factor) * weight_gradient[t * conv.channels + c];
}

inline void Chain::backward(const float* gradient, float* back) {
  int64_t most = 0;
  for (size_t l = 0; l + 1 < layers_.size(); l++) most = std::max(most, rows(l) * layers_[l].outputs);
  Buffer<float> room[2] = {Buffer<float>(most, false), Buffer<float>(most, false)};
  size_t l = layers_.size() - 1;
  Gradient own = gradient_of(l);
  own.norm.add(values_[l], gradient, rows(l));
  for (;; l--) {
    const ChainLayer& layer = layers_[l];
    own.norm.finish(rows(l), layer.factor, layer.norm_weight_target, layer.norm_bias_target);
    Gradient next = gradient_of(l ? l - 1 : 0);
    float* target = l ? static_cast<float*>(room[l % 2]) : back;
    if (layer.depthwise) backward_depthwise(l, own, l ? &next : nullptr, gradient, target);
    else backward_dense(l, own, l ? &next : nullptr, gradient, target);
    if (l == 0) return;
    gradient = target;
    own = std::move(next);
  }
}

}  // namespace flockwise
