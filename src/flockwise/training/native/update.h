// The step of the optimiser, applied where a gradient comes into being.
#pragma once
#include "vectors.h"

namespace flockwise {

enum Optimiser { DESCENT = 0, ADAM = 1, ADAMW = 2 };

struct Update {
  float* weights;         // all parameters of the model, in the layout of the kernels
  const float* received;  // the same before training: where FedProx pulls to
  float* velocity;        // of momentum; of Adam the mean of gradients
  float* squares;         // of Adam
  float rate, momentum, decay, proximal;
  Optimiser optimiser;
  bool plain;  // only the learning rate counts; `velocity` is not there. Nor is `received`, if nothing pulls
  // Of Adam's step at hand: what corrects its averages for having begun at zero.
  float scale = 1, root = 1;

  inline void apply(int64_t at, Vec gradient) const {
    const Vec weight = load(weights + at);
    if (plain) return store(weights + at, weight - rate * gradient);
    const Vec pull = proximal == 0 ? Vec{} : proximal * (weight - load(received + at));
    optimiser == DESCENT ? descend(at, weight, gradient, pull) : adapt(at, weight, gradient + pull);
  }

  inline void apply_all(int64_t at, const float* gradient, int64_t count) const {
    for (int64_t i = 0; i < count; i += LANES) apply(at + i, load(gradient + i));
  }

  // To be called before every step, from 1.
  void begin(int64_t step) {
    scale = float(1 / (1 - power(BETA_MEANS, step)));
    root = float(1 / __builtin_sqrt(1 - power(BETA_SQUARES, step)));
  }

 private:
  static constexpr double BETA_MEANS = 0.9, BETA_SQUARES = 0.999, EPSILON = 1e-8;  // torch's

  static double power(double base, int64_t exponent) { return __builtin_pow(base, double(exponent)); }

  // Like torch.optim.SGD: decay and pull join the gradient before momentum.
  inline void descend(int64_t at, Vec weight, Vec gradient, Vec pull) const {
    gradient += decay * weight + pull;
    gradient += momentum * load(velocity + at);
    store(velocity + at, gradient);
    store(weights + at, weight - rate * gradient);
  }

  // Like torch.optim.Adam; AdamW's decay is beside the step, not inside its averages.
  inline void adapt(int64_t at, Vec weight, Vec gradient) const {
    constexpr float means = float(1 - BETA_MEANS), squared = float(1 - BETA_SQUARES);
    if (optimiser == ADAM) gradient += decay * weight;
    else weight *= 1 - rate * decay;
    Vec mean = load(velocity + at), square = load(squares + at);
    mean += means * (gradient - mean);
    square += squared * (gradient * gradient - square);
    store(velocity + at, mean);
    store(squares + at, square);
    store(weights + at, weight - rate * scale * mean / (root * square_root(square) + float(EPSILON)));
  }
};

}  // namespace flockwise
