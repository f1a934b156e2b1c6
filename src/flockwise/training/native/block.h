// One convolution with rectifier and maximum as an operation of its own, so that torch's autograd can use it.
#pragma once
#include "network.h"

namespace flockwise {

class Block {
 public:
  // weights are torch's, [outputs][channels][kernel][kernel]; channels are one, three or a multiple of PAD.
  Block(const LayerSpec& spec, const float* weights, const float* bias);

  // Images are [height][width][channels], results [pooled_height][pooled_width][outputs].
  void forward(const float* image, float* result, uint8_t* choices);
  void backward(const float* image, const uint8_t* choices, const float* gradient, float* back);
  // Torch's layout of the gradients that `backward` has added up.
  void read(float* weight_gradient, float* bias_gradient) const;

  const Convolution& convolution() const { return conv_; }

 private:
  void place(const float* image);

  LayerSpec spec_;
  Convolution conv_;
  int64_t inner_;  // where the first pixel that is not padding starts
  Buffer<float> weights_, bias_, plane_, pack_, room_, gradient_, bias_gradient_, back_;
  Buffer<Entry> by_output_, by_pixel_;
  Buffer<int32_t> numbers_;
  bool ready_ = false;  // a block goes one way: forward or backward
};

inline Block::Block(const LayerSpec& spec, const float* weights, const float* bias) : spec_(spec) {
  conv_ = convolution_of(spec, true);  // outputs are multiples of PAD
  inner_ = inner_of(spec, conv_);
  weights_ = Buffer<float>(conv_.outputs * conv_.taps());
  visit_weights(spec_, conv_, [&](int64_t from, int64_t to) { weights_[to] = weights[from]; });
  bias_ = Buffer<float>(conv_.outputs);
  if (bias) std::memcpy(bias_, bias, conv_.outputs * sizeof(float));
  plane_ = Buffer<float>(conv_.plane());
}

inline void Block::place(const float* image) {
  const int64_t line = spec_.width * conv_.channels;
  for (int64_t y = 0; y < spec_.height; y++)
    std::memcpy(plane_ + inner_ + y * conv_.row(), image + y * line, line * sizeof(float));
}

inline void Block::forward(const float* image, float* result, uint8_t* choices) {
  if (!ready_) {
    Buffer<float> taps(conv_.taps() * conv_.outputs);
    pack_forward(conv_, weights_, taps);
    choose_way(conv_, [&](const auto& way) {
      pack_ = Buffer<float>(way.weights());
      room_ = Buffer<float>(way.workspace(), false);
      way.pack(taps, pack_);
    });
    ready_ = true;
  }
  place(image);
  const ChosenMaxima pooled{result, conv_.pooled_width() * conv_.outputs, choices};
  choose_way(conv_, [&](const auto& way) { way.forward(pack_, bias_, plane_, room_, pooled); });
}

inline void Block::backward(const float* image, const uint8_t* choices, const float* gradient, float* back) {
  if (!ready_) {
    gradient_ = Buffer<float>(conv_.outputs * conv_.taps());
    bias_gradient_ = Buffer<float>(conv_.outputs);
    by_output_ = Buffer<Entry>(Lists::entries(conv_));
    by_pixel_ = Buffer<Entry>(Lists::entries(conv_));
    numbers_ = Buffer<int32_t>(2 * Lists::numbers(conv_));
    if (back) {
      pack_ = Buffer<float>(conv_.taps() * conv_.outputs);
      pack_backward(conv_, weights_, pack_);
      back_ = Buffer<float>(conv_.plane());
    }
    ready_ = true;
  }
  place(image);
  const Lists lists{by_output_, by_pixel_, numbers_, numbers_ + Lists::numbers(conv_)};
  collect(conv_, gradient, conv_.pooled_width() * conv_.outputs, choices, back != nullptr, lists, bias_gradient_);
  backward_weights(conv_, lists, plane_, gradient_);
  if (!back) return;
  std::memset(back_, 0, conv_.plane() * sizeof(float));
  backward_pixels(conv_, lists, pack_, back_);
  const int64_t line = spec_.width * conv_.channels;
  for (int64_t y = 0; y < spec_.height; y++)
    std::memcpy(back + y * line, back_ + inner_ + y * conv_.row(), line * sizeof(float));
}

inline void Block::read(float* weight_gradient, float* bias_gradient) const {
  visit_weights(spec_, conv_, [&](int64_t to, int64_t from) { weight_gradient[to] = gradient_[from]; });
  std::memcpy(bias_gradient, bias_gradient_, conv_.outputs * sizeof(float));
}

}  // namespace flockwise
