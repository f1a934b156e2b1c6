// Several networks of one kind whose predictions are mixed by shares: models/layers/mixture.py.
#pragma once
#include "evaluation.h"
#include "learner.h"

namespace flockwise {

// The shares are logits and lie in the vector from `shares` on; specs of all parts lie end to end.
struct Mix {
  int64_t parts, shares, parts_move, shares_move;
};

// The log of the sum of e^value(i).
template <class Value>
inline double log_sum(int64_t count, Value value) {
  double most = -INFINITY, total = 0;
  for (int64_t i = 0; i < count; i++) most = std::max(most, double(value(i)));
  for (int64_t i = 0; i < count; i++) total += std::exp(double(value(i)) - most);
  return most + std::log(total);
}

// The logs of the shares.
inline void log_shares(const float* shares, int64_t parts, double* logs) {
  const double all = log_sum(parts, [&](int64_t m) { return shares[m]; });
  for (int64_t m = 0; m < parts; m++) logs[m] = double(shares[m]) - all;
}

// Where the likelihood of a sample is the sum of share times likelihood by a part, the gradient of its log is that of
// each part's, times how responsible the part is for the sample; and by the shares' logits responsibility less share.
class Mixture {
 public:
  Mixture(const LayerSpec* specs, int64_t count, const Mix& mix, const Settings& s, const float* vector)
      : mix_(mix), shares_(padded(mix.parts)), slope_(padded(mix.parts)), logs_(mix.parts), said_(mix.parts),
        logits_(mix.parts), moving_(taken(vector), padded(mix.parts), s) {
    for (int64_t m = 0; m < mix.parts; m++) parts_.emplace_back(specs + m * count, count, s, vector);
  }

  int64_t classes() const { return parts_[0].classes(); }

  void begin(int64_t step, double rate) {
    moving_.begin(step, rate);
    for (auto& part : parts_) part.begin(step, rate);
  }

  void read(float* vector) const {
    for (const auto& part : parts_) part.read(vector);
    std::memcpy(vector + mix_.shares, shares_, mix_.parts * sizeof(float));
  }

  void learn(const float* const* rows, const int64_t* expected, int64_t batch, double* loss) {
    log_shares(shares_, mix_.parts, logs_.data());
    for (int64_t m = 0; m < mix_.parts; m++) {
      logits_[m] = parts_[m].forward(rows, batch);
      slope_[m] = 0;
    }
    for (int64_t b = 0; b < batch; b++) {
      const double of_it = responsibilities(b, expected[b], 1.0f / float(batch));
      if (loss) *loss += of_it;
    }
    for (auto& part : parts_)
      if (mix_.parts_move) part.backward(batch);
    if (mix_.shares_move) moving_.update().apply_all(0, slope_, padded(mix_.parts));
  }

 private:
  float* taken(const float* vector) {
    std::memcpy(shares_, vector + mix_.shares, mix_.parts * sizeof(float));
    return shares_;
  }

  // Turn the parts' logits of one sample into the gradient of `scale` times its loss; returns the loss.
  double responsibilities(int64_t b, int64_t expected, float scale) {
    const int64_t offset = b * parts_[0].stride();
    for (int64_t m = 0; m < mix_.parts; m++)
      said_[m] = logs_[m] - cross_entropy(logits_[m] + offset, classes(), expected, scale, true);
    const double all = log_sum(mix_.parts, [&](int64_t m) { return said_[m]; });
    for (int64_t m = 0; m < mix_.parts; m++) {
      const float responsible = float(std::exp(said_[m] - all));
      for (int64_t c = 0; c < classes(); c++) logits_[m][offset + c] *= responsible;
      slope_[m] += scale * (float(std::exp(logs_[m])) - responsible);
    }
    return -all;
  }

  Mix mix_;
  Buffer<float> shares_, slope_;
  std::vector<double> logs_, said_;
  std::vector<float*> logits_;
  std::vector<Learner> parts_;
  Moving moving_;
};

// A mixture that is tested only.
class MixtureEvaluation {
 public:
  MixtureEvaluation(const LayerSpec* specs, int64_t count, const Mix& mix, int64_t batch, const float* vector)
      : logs_(mix.parts), offsets_(mix.parts), logits_(mix.parts) {
    log_shares(vector + mix.shares, mix.parts, logs_.data());
    for (int64_t m = 0; m < mix.parts; m++) parts_.emplace_back(specs + m * count, count, batch, vector);
  }

  int64_t classes() const { return parts_[0].classes(); }
  int64_t logits_stride() const { return parts_[0].logits_stride(); }

  // The logs of the mixed probabilities, [batch][logits_stride], where the first part had put its logits.
  float* forward(const float* images, int64_t batch) {
    const int64_t parts = int64_t(parts_.size());
    for (int64_t m = 0; m < parts; m++) logits_[m] = parts_[m].forward(images, batch);
    for (int64_t b = 0; b < batch; b++) {
      const int64_t row = b * logits_stride();
      for (int64_t m = 0; m < parts; m++)
        offsets_[m] = logs_[m] - log_sum(classes(), [&](int64_t c) { return logits_[m][row + c]; });
      for (int64_t c = 0; c < classes(); c++)
        logits_[0][row + c] = float(log_sum(parts, [&](int64_t m) { return offsets_[m] + logits_[m][row + c]; }));
    }
    return logits_[0];
  }

 private:
  std::vector<double> logs_, offsets_;
  std::vector<float*> logits_;
  std::vector<Evaluation> parts_;
};

}  // namespace flockwise
