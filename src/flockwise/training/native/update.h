// The step of stochastic gradient descent, applied where a gradient comes into being.
#pragma once
#include "vectors.h"

namespace flockwise {

struct Update {
  float* weights;         // all parameters of the model, in the layout of the kernels
  const float* received;  // the same before training: where FedProx pulls to
  float* velocity;        // of momentum
  float rate, momentum, decay, proximal;
  bool plain;  // only the learning rate counts; `received` and `velocity` are not there

  // Like torch.optim.SGD: decay and pull join the gradient before momentum.
  inline void apply(int64_t at, Vec gradient) const {
    const Vec weight = load(weights + at);
    if (!plain) {
      gradient += decay * weight + proximal * (weight - load(received + at));
      gradient += momentum * load(velocity + at);
      store(velocity + at, gradient);
    }
    store(weights + at, weight - rate * gradient);
  }

  inline void apply_all(int64_t at, const float* gradient, int64_t count) const {
    for (int64_t i = 0; i < count; i += LANES) apply(at + i, load(gradient + i));
  }
};

}  // namespace flockwise
