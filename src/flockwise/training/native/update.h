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

  // Call use(step), where step(at, gradient) moves a vector of parameters. A step holds the settings itself: from
  // here they would be loaded again behind every store, which might have changed them for all a compiler knows.
  template <class Use>
  inline void with_step(Use use) const {
    if (plain) use(plain_step());
    else if (optimiser == DESCENT) use(descent());
    else use(adaptation());
  }

  inline void apply_all(int64_t at, const float* gradient, int64_t count) const {
    with_step([&](auto step) {
      for (int64_t i = 0; i < count; i += LANES) step(at + i, load(gradient + i));
    });
  }

  // Ask for all that a step will need soon: it lies too far apart for the hardware to see it coming.
  FLOCKWISE_INLINE void prefetch(int64_t at, int64_t floats) const {
    flockwise::prefetch(weights + at, 0, 1, floats);
    if (!plain) flockwise::prefetch(velocity + at, 0, 1, floats);
    if (!plain && optimiser != DESCENT) flockwise::prefetch(squares + at, 0, 1, floats);
  }

  // To be called before every step, from 1.
  void begin(int64_t step) {
    scale = float(1 / (1 - power(BETA_MEANS, step)));
    root = float(1 / __builtin_sqrt(1 - power(BETA_SQUARES, step)));
  }

 private:
  static constexpr double BETA_MEANS = 0.9, BETA_SQUARES = 0.999, EPSILON = 1e-8;  // torch's

  static double power(double base, int64_t exponent) { return __builtin_pow(base, double(exponent)); }

  auto plain_step() const {
    return [weights = weights, rate = rate](int64_t at, Vec gradient) {
      store(weights + at, load(weights + at) - rate * gradient);
    };
  }

  auto pulled() const {
    return [received = received, proximal = proximal](int64_t at, Vec weight) {
      return proximal == 0 ? Vec{} : proximal * (weight - load(received + at));
    };
  }

  // Like torch.optim.SGD: decay and pull join the gradient before momentum.
  auto descent() const {
    return [pull = pulled(), weights = weights, velocity = velocity, rate = rate, momentum = momentum,
            decay = decay](int64_t at, Vec gradient) {
      const Vec weight = load(weights + at);
      gradient += decay * weight + pull(at, weight);
      gradient += momentum * load(velocity + at);
      store(velocity + at, gradient);
      store(weights + at, weight - rate * gradient);
    };
  }

  // Like torch.optim.Adam; AdamW's decay is beside the step, not inside its averages.
  auto adaptation() const {
    const bool within = optimiser == ADAM;
    return [pull = pulled(), weights = weights, velocity = velocity, squares = squares, fast = rate * scale, root = root,
            inside = within ? decay : 0.0f, kept = within ? 1.0f : 1 - rate * decay](int64_t at, Vec gradient) {
      constexpr float means = float(1 - BETA_MEANS), squared = float(1 - BETA_SQUARES);
      const Vec weight = load(weights + at);
      gradient += pull(at, weight);
      gradient += inside * weight;
      Vec mean = load(velocity + at), square = load(squares + at);
      mean += means * (gradient - mean);
      square += squared * (gradient * gradient - square);
      store(velocity + at, mean);
      store(squares + at, square);
      store(weights + at, kept * weight - fast * mean / (root * square_root(square) + float(EPSILON)));
    };
  }
};

}  // namespace flockwise
