// A network that is tested only: of a convolution it keeps no more than the image at hand.
#pragma once
#include <vector>
#include "buffer.h"
#include "forward.h"
#include "layers.h"
#include "linear_evaluation.h"

namespace flockwise {

class Evaluation {
 public:
  // The specs must outlive it, the vector need not.
  Evaluation(const LayerSpec* specs, int64_t count, int64_t batch, const float* vector);

  int64_t classes() const { return linears_.back().linear.outputs; }
  int64_t logits_stride() const { return stride_; }
  // The logits of a batch of images that lie end to end, [batch][logits_stride].
  float* forward(const float* images, int64_t batch);

 private:
  struct ConvolutionLayer {
    Convolution conv;
    int64_t inner;  // where the first pixel that is not padding starts in the plane
    Buffer<float> plane, weights, bias;
  };
  struct LinearLayer {
    LinearEvaluation linear;
    Buffer<float> weights, bias;
  };
  void add_convolution(const LayerSpec& spec, const float* vector);
  void add_linear(const LayerSpec& spec, const float* vector);
  void convolve(const float* image, float* features);

  const LayerSpec& first_;
  std::vector<ConvolutionLayer> convolutions_;
  std::vector<LinearLayer> linears_;
  Buffer<float> workspace_, features_[2];
  int64_t workspace_size_ = 0, stride_ = 0;
};

inline Buffer<float> padded_bias(const LayerSpec& spec, const float* vector) {
  Buffer<float> bias(padded(spec.outputs));
  if (spec.bias >= 0) std::memcpy(bias, vector + spec.bias, spec.outputs * sizeof(float));
  return bias;
}

inline Evaluation::Evaluation(const LayerSpec* specs, int64_t count, int64_t batch, const float* vector)
    : first_(*specs) {
  for (const LayerSpec* spec = specs; spec < specs + count; spec++)
    if (spec->convolution) add_convolution(*spec, vector);
    else add_linear(*spec, vector);
  workspace_ = Buffer<float>(workspace_size_, false);
  for (auto& features : features_) features = Buffer<float>(batch * stride_, false);
}

inline void Evaluation::add_convolution(const LayerSpec& spec, const float* vector) {
  ConvolutionLayer layer;
  Convolution& conv = layer.conv;
  conv = convolution_of(spec, convolutions_.empty());
  layer.inner = inner_of(spec, conv);
  layer.plane = Buffer<float>(conv.plane());
  layer.bias = padded_bias(spec, vector);

  Buffer<float> weights(conv.taps() * conv.outputs);
  visit_weights(spec, conv, [&](int64_t theirs, int64_t ours) {
    weights[ours % conv.taps() * conv.outputs + ours / conv.taps()] = vector[spec.weight + theirs];
  });
  choose_way(conv, [&](const auto& way) {
    layer.weights = Buffer<float>(way.weights(), false);
    way.pack(weights, layer.weights);
    workspace_size_ = std::max(workspace_size_, way.workspace());
  });
  stride_ = spread(conv.windows() * conv.outputs);  // the last convolution's maxima are rows of the linear layer
  convolutions_.push_back(std::move(layer));
}

inline void Evaluation::add_linear(const LayerSpec& spec, const float* vector) {
  LinearLayer layer;
  LinearEvaluation& linear = layer.linear;
  linear.pixels = spec.height * spec.width;
  linear.channels = spec.channels;
  linear.stride = linears_.empty() && !convolutions_.empty() ? padded(spec.channels) : spec.channels;
  linear.outputs = spec.outputs;
  linear.relu = spec.relu;
  layer.bias = padded_bias(spec, vector);
  layer.weights = Buffer<float>(linear.weights());
  linear.pack(vector + spec.weight, layer.weights);
  stride_ = std::max(stride_, spread(spec.outputs));
  linears_.push_back(std::move(layer));
}

inline void Evaluation::convolve(const float* image, float* features) {
  const int64_t line = first_.width * first_.channels;
  for (int64_t y = 0; y < first_.height; y++)
    std::memcpy(convolutions_[0].plane + convolutions_[0].inner + y * convolutions_[0].conv.row(), image + y * line,
                line * sizeof(float));
  for (auto layer = convolutions_.begin(); layer < convolutions_.end(); layer++) {
    const auto next = layer + 1;
    const Maxima maxima = next < convolutions_.end()
                              ? Maxima{next->plane + next->inner, next->conv.row()}
                              : Maxima{features, layer->conv.pooled_width() * layer->conv.outputs};
    choose_way(layer->conv, [&](const auto& way) {
      way.forward(layer->weights, layer->bias, layer->plane, workspace_, maxima);
    });
  }
}

inline float* Evaluation::forward(const float* images, int64_t batch) {
  const float* rows = images;
  int64_t stride = first_.height * first_.width * first_.channels;
  if (!convolutions_.empty()) {
    for (int64_t b = 0; b < batch; b++) convolve(images + b * stride, features_[0] + b * stride_);
    rows = features_[0];
    stride = stride_;
  }
  float *result = features_[1], *other = features_[0];
  for (const auto& [linear, weights, bias] : linears_) {
    linear.forward(weights, bias, rows, stride, batch, result, stride_);
    rows = result;
    stride = stride_;
    std::swap(result, other);
  }
  return other;
}

}  // namespace flockwise
