// A network of convolutions and linear layers in training: its memory, and the forward and backward pass of a batch.
#pragma once
#include <algorithm>
#include <vector>
#include "buffer.h"
#include "convolution_backward.h"
#include "forward.h"
#include "layers.h"
#include "linear_sparse.h"
#include "softmax.h"

namespace flockwise {

struct ConvolutionLayer {
  LayerSpec spec;
  Convolution conv;
  int64_t inner;  // where the first pixel that is not padding starts in a plane
  Buffer<float> planes, tap_pack, forward_pack, backward_pack, gradient, bias_gradient, back;
  Buffer<uint8_t> choices;
};

struct LinearLayer {
  LayerSpec spec;
  Linear linear;
  int64_t channels_stride;  // channels of a pixel in memory, padding included
  Buffer<float> inputs;     // [batch][inputs]
  std::vector<const float*> rows;
};

class Network {
 public:
  Network(const LayerSpec* specs, int64_t count, int64_t batch);

  // Between torch's vector and the layout of the kernels; `read` leaves other entries of the vector alone.
  void write(const float* vector);
  void read(float* vector) const;

  float* parameters() { return parameters_; }
  int64_t size() const { return size_; }
  int64_t classes() const { return linears_.back().linear.outputs; }
  int64_t logits_stride() const { return gradient_stride_; }

  // Arrange the weights of the convolutions for the kernels; to be called whenever they have changed.
  void pack();
  // The logits of a batch, [batch][logits_stride].
  float* forward(const float* const* samples, int64_t batch);
  // One step, from the gradient of the logits in the place where `forward` put them.
  void backward(int64_t batch, const Update& update);

 private:
  template <class Visit>
  void visit_parameters(Visit visit) const;

  std::vector<ConvolutionLayer> convolutions_;
  std::vector<LinearLayer> linears_;
  Buffer<float> parameters_, workspace_, gradients_[2], transposed_;
  Buffer<Entry> by_output_, by_pixel_;
  Buffer<int32_t> counts_, starts_;
  int64_t size_ = 0, gradient_stride_ = 0;
};

inline Network::Network(const LayerSpec* specs, int64_t count, int64_t batch) {
  int64_t workspace = 0, outputs = 0, entries = 0, starts = 0, widest = 0;
  const auto place = [this](int64_t floats) { return std::exchange(size_, size_ + padded(floats)); };
  for (const LayerSpec* spec = specs; spec < specs + count; spec++) {
    if (spec->convolution) {
      ConvolutionLayer layer;
      layer.spec = *spec;
      Convolution& conv = layer.conv;
      conv = convolution_of(*spec, convolutions_.empty());
      conv.weight = place(conv.outputs * conv.taps());
      conv.bias = place(conv.outputs);
      layer.inner = inner_of(*spec, conv);
      layer.planes = Buffer<float>(batch * conv.plane());
      layer.tap_pack = Buffer<float>(conv.taps() * conv.outputs);
      choose_way(conv, [&](const auto& way) {
        layer.forward_pack = Buffer<float>(way.weights());
        workspace = std::max(workspace, way.workspace());
      });
      layer.choices = Buffer<uint8_t>(batch * conv.windows() * conv.outputs);
      const bool back = !convolutions_.empty();
      layer.gradient = Buffer<float>(conv.taps() * conv.outputs);
      layer.bias_gradient = Buffer<float>(conv.outputs);
      layer.backward_pack = Buffer<float>(back ? conv.taps() * conv.outputs : 0);
      layer.back = Buffer<float>(back ? conv.plane() : 0);
      outputs = std::max(outputs, conv.outputs);
      entries = std::max(entries, Lists::entries(conv));
      starts = std::max(starts, Lists::numbers(conv));
      convolutions_.push_back(std::move(layer));
    } else {
      LinearLayer layer;
      layer.spec = *spec;
      const bool from_pixels = linears_.empty() && !convolutions_.empty();
      layer.channels_stride = from_pixels ? padded(spec->channels) : spec->channels;
      Linear& linear = layer.linear;
      linear.inputs = padded(layer.channels_stride * spec->height * spec->width);
      linear.outputs = spec->outputs;
      linear.stride = spread(linear.inputs);
      linear.biased = spec->bias >= 0;
      linear.relu = spec->relu;
      linear.weight = place(linear.outputs * linear.stride);
      linear.bias = place(linear.outputs);
      layer.inputs = Buffer<float>(batch * linear.stride);
      layer.rows.resize(batch);
      outputs = std::max(outputs, linear.outputs);
      if (linear.relu) {
        entries = std::max(entries, batch * linear.outputs);
        starts = std::max(starts, LinearLists::starts(batch, linear.outputs));
      }
      widest = std::max({widest, linear.stride, spread(linear.outputs)});
      linears_.push_back(std::move(layer));
    }
  }
  gradient_stride_ = widest;
  parameters_ = Buffer<float>(size_);
  workspace_ = Buffer<float>(workspace);
  for (auto& gradient : gradients_) gradient = Buffer<float>(batch * widest);
  transposed_ = Buffer<float>(outputs * padded(batch));
  by_output_ = Buffer<Entry>(entries);
  by_pixel_ = Buffer<Entry>(entries);
  counts_ = Buffer<int32_t>(starts);
  starts_ = Buffer<int32_t>(starts);
}

// Call visit(place in the vector, place among the parameters) for every number of the model.
template <class Visit>
inline void Network::visit_parameters(Visit visit) const {
  for (const auto& layer : convolutions_) {
    const LayerSpec& spec = layer.spec;
    const Convolution& conv = layer.conv;
    visit_weights(spec, conv, [&](int64_t theirs, int64_t ours) { visit(spec.weight + theirs, conv.weight + ours); });
    for (int64_t o = 0; o < spec.outputs && spec.bias >= 0; o++) visit(spec.bias + o, conv.bias + o);
  }
  for (const auto& layer : linears_) {
    const LayerSpec& spec = layer.spec;
    const int64_t area = spec.height * spec.width;
    int64_t from = spec.weight;
    for (int64_t o = 0; o < spec.outputs; o++)
      for (int64_t c = 0; c < spec.channels; c++)
        for (int64_t p = 0; p < area; p++)
          visit(from++, layer.linear.weight + o * layer.linear.stride + p * layer.channels_stride + c);
    for (int64_t o = 0; o < spec.outputs && spec.bias >= 0; o++) visit(spec.bias + o, layer.linear.bias + o);
  }
}

inline void Network::write(const float* vector) {
  visit_parameters([&](int64_t from, int64_t to) { parameters_[to] = vector[from]; });
  pack();
}

inline void Network::read(float* vector) const {
  visit_parameters([&](int64_t to, int64_t from) { vector[to] = parameters_[from]; });
}

inline void Network::pack() {
  for (auto& layer : convolutions_) {
    const float* weights = parameters_ + layer.conv.weight;
    pack_forward(layer.conv, weights, layer.tap_pack);
    choose_way(layer.conv, [&](const auto& way) { way.pack(layer.tap_pack, layer.forward_pack); });
    if (&layer != &convolutions_[0]) pack_backward(layer.conv, weights, layer.backward_pack);
  }
}

inline float* Network::forward(const float* const* samples, int64_t batch) {
  for (int64_t b = 0; b < batch; b++)
    for (size_t l = 0; l < convolutions_.size(); l++) {
      ConvolutionLayer& layer = convolutions_[l];
      const Convolution& conv = layer.conv;
      float* plane = layer.planes + b * conv.plane();
      const int64_t line = layer.spec.width * conv.channels;
      for (int64_t y = 0; y < layer.spec.height && l == 0; y++)  // later planes come from the layer before
        std::memcpy(plane + layer.inner + y * conv.row(), samples[b] + y * line, line * sizeof(float));
      ChosenMaxima pooled;
      pooled.choices = layer.choices + b * conv.windows() * conv.outputs;
      if (l + 1 < convolutions_.size()) {
        const ConvolutionLayer& next = convolutions_[l + 1];
        pooled.values = next.planes + b * next.conv.plane() + next.inner;
        pooled.stride = next.conv.row();
      } else {
        pooled.values = linears_[0].inputs + b * linears_[0].linear.stride;
        pooled.stride = conv.pooled_width() * conv.outputs;
      }
      const float* bias = parameters_ + conv.bias;
      choose_way(conv, [&](const auto& way) { way.forward(layer.forward_pack, bias, plane, workspace_, pooled); });
    }
  for (size_t l = 0; l < linears_.size(); l++) {
    LinearLayer& layer = linears_[l];
    const int64_t features = layer.spec.channels * layer.spec.height * layer.spec.width;
    const bool given = l == 0 && convolutions_.empty();
    for (int64_t b = 0; b < batch; b++) {
      float* row = layer.inputs + b * layer.linear.stride;
      if (given && features % PAD) std::memcpy(row, samples[b], features * sizeof(float));
      layer.rows[b] = given && features % PAD == 0 ? samples[b] : row;
    }
    const bool last = l + 1 == linears_.size();
    flockwise::forward(layer.linear, parameters_, layer.rows.data(), batch,
                       last ? gradients_[0] : linears_[l + 1].inputs,
                       last ? gradient_stride_ : linears_[l + 1].linear.stride);
  }
  return gradients_[0];
}

inline void Network::backward(int64_t batch, const Update& update) {
  float *gradient = gradients_[0], *back = gradients_[1];
  for (size_t l = linears_.size(); l-- > 0;) {
    LinearLayer& layer = linears_[l];
    const bool wanted = l > 0 || !convolutions_.empty();
    if (layer.linear.relu)
      backward_sparse(layer.linear, update, layer.rows.data(), batch, gradient, gradient_stride_,
                      {by_output_, by_pixel_, counts_, starts_}, wanted ? back : nullptr, gradient_stride_);
    else
      flockwise::backward(layer.linear, update, layer.rows.data(), batch, gradient, gradient_stride_, transposed_,
                          wanted ? back : nullptr, gradient_stride_);
    if (l > 0 && linears_[l - 1].linear.relu)
      for (int64_t b = 0; b < batch; b++)
        for (int64_t i = 0; i < layer.linear.inputs; i++)
          back[b * gradient_stride_ + i] *= layer.rows[b][i] > 0 ? 1.0f : 0.0f;
    std::swap(gradient, back);
  }
  if (convolutions_.empty()) return;

  const Lists lists{by_output_, by_pixel_, counts_, starts_};
  for (int64_t b = 0; b < batch; b++) {
    const float* incoming = gradient + b * gradient_stride_;
    int64_t stride = convolutions_.back().conv.pooled_width() * convolutions_.back().conv.outputs;
    for (size_t l = convolutions_.size(); l-- > 0;) {
      ConvolutionLayer& layer = convolutions_[l];
      const Convolution& conv = layer.conv;
      collect(conv, incoming, stride, layer.choices + b * conv.windows() * conv.outputs, l > 0, lists,
              layer.bias_gradient);
      backward_weights(conv, lists, layer.planes + b * conv.plane(), layer.gradient);
      if (l == 0) break;
      std::memset(layer.back, 0, conv.plane() * sizeof(float));
      backward_pixels(conv, lists, layer.backward_pack, layer.back);
      incoming = layer.back + layer.inner;
      stride = conv.row();
    }
  }
  for (auto& layer : convolutions_) {
    const int64_t count = layer.conv.outputs * layer.conv.taps();
    update.apply_all(layer.conv.weight, layer.gradient, count);
    if (layer.spec.bias >= 0) update.apply_all(layer.conv.bias, layer.bias_gradient, layer.conv.outputs);
    std::memset(layer.gradient, 0, count * sizeof(float));
    std::memset(layer.bias_gradient, 0, layer.conv.outputs * sizeof(float));
  }
  pack();
}

}  // namespace flockwise
