// What learns from one batch after the other: parameters with what their optimiser remembers, and a network of them.
#pragma once
#include "network.h"

namespace flockwise {

struct Settings {
  int64_t epochs, samples, features, batch;
  double rate, momentum, decay, proximal;
  int64_t optimiser;
};

// Parameters in the layout of the kernels, and how they move.
class Moving {
 public:
  Moving(float* parameters, int64_t size, const Settings& s)
      : adam_(s.optimiser != DESCENT),
        plain_(!adam_ && s.momentum == 0 && s.decay == 0 && s.proximal == 0),
        received_(s.proximal ? size : 0),
        velocity_(plain_ ? 0 : size),
        squares_(adam_ ? size : 0),
        update_{parameters,        received_,      velocity_,         squares_,               float(s.rate),
                float(s.momentum), float(s.decay), float(s.proximal), Optimiser(s.optimiser), plain_} {
    if (s.proximal) std::memcpy(received_, parameters, size * sizeof(float));
  }

  // To be called before every step, from 1.
  void begin(int64_t step, double rate) {
    update_.rate = float(rate);
    if (adam_) update_.begin(step);
  }
  const Update& update() const { return update_; }

 private:
  bool adam_, plain_;
  Buffer<float> received_, velocity_, squares_;
  Update update_;
};

// A network that learns to classify.
class Learner {
 public:
  Learner(const LayerSpec* specs, int64_t count, const Settings& s, const float* vector)
      : network_(specs, count, s.batch), moving_((network_.write(vector), network_.parameters()), network_.size(), s) {}

  int64_t classes() const { return network_.classes(); }
  int64_t stride() const { return network_.logits_stride(); }
  void begin(int64_t step, double rate) { moving_.begin(step, rate); }
  float* forward(const float* const* rows, int64_t batch) { return network_.forward(rows, batch); }
  void backward(int64_t batch) { network_.backward(batch, moving_.update()); }
  void read(float* vector) const { network_.read(vector); }

  // One step on a batch; `loss` gains that of each sample, if it is asked for.
  void learn(const float* const* rows, const int64_t* expected, int64_t batch, double* loss) {
    float* logits = forward(rows, batch);
    for (int64_t b = 0; b < batch; b++) {
      const double of_it = cross_entropy(logits + b * stride(), classes(), expected[b], 1.0f / float(batch), loss);
      if (loss) *loss += of_it;
    }
    backward(batch);
  }

 private:
  Network network_;
  Moving moving_;
};

}  // namespace flockwise
