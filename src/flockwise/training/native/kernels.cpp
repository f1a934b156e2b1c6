// What Python calls: train a model on a client's samples, evaluate one, and one layer for autograd.
#include "block.h"
#include "mixture.h"

using namespace flockwise;

extern "C" {

int flockwise_lanes() { return LANES; }

// What the functions below return.
enum Outcome { DONE = 0, NO_MEMORY = 1, WRONG_CLASS = 2, WRONG_ORDER = 3 };

// Whether all numbers are of 0 to limit - 1: here it costs nothing beside the work, in Python it does.
static bool below(const int64_t* numbers, int64_t count, int64_t limit) {
  bool fine = true;
  for (int64_t i = 0; i < count; i++) fine &= uint64_t(numbers[i]) < uint64_t(limit);
  return fine;
}

// Train `vector` in place; orders is [epochs][samples], rates has the learning rate of each step, or is null where
// all have the same. `mix` is null unless the model is a mixture.
int flockwise_train(const LayerSpec* specs, int64_t count, const Mix* mix, const Settings* settings, float* vector,
                    const float* x, const int64_t* y, const int64_t* orders, const double* rates,
                    double* mean_loss) try {
  const auto train = [&](auto model) -> int {
    const Settings& s = *settings;
    if (!below(y, s.samples, model.classes())) return WRONG_CLASS;
    if (!below(orders, s.epochs * s.samples, s.samples)) return WRONG_ORDER;
    std::vector<const float*> rows(s.batch);
    std::vector<int64_t> expected(s.batch);
    int64_t step = 0;
    double loss = 0;
    for (int64_t epoch = 0; epoch < s.epochs; epoch++)
      for (int64_t start = 0; start < s.samples; start += s.batch) {
        const int64_t* order = orders + epoch * s.samples + start;
        const int64_t batch = std::min(s.batch, s.samples - start);
        for (int64_t b = 0; b < batch; b++) {
          rows[b] = x + order[b] * s.features;
          expected[b] = y[order[b]];
        }
        model.begin(++step, rates ? *rates++ : s.rate);
        model.learn(rows.data(), expected.data(), batch, epoch + 1 == s.epochs ? &loss : nullptr);
      }
    model.read(vector);
    *mean_loss = loss / double(s.samples);
    return DONE;
  };
  return mix ? train(Mixture(specs, count, *mix, *settings, vector)) : train(Learner(specs, count, *settings, vector));
} catch (...) {
  return NO_MEMORY;
}

// Mean loss and number of correct answers on each of several clients' samples, which lie end to end. A sample's
// logits do not depend on what else is in its batch, so each client gets the same bits as alone.
// The model is not changed.
int flockwise_evaluate(const LayerSpec* specs, int64_t count, const Mix* mix, const Settings* settings,
                       const float* vector, const float* x, const int64_t* y, const int64_t* lengths, int64_t clients,
                       double* mean_losses, int64_t* correct) try {
  const auto evaluate = [&](auto network) -> int {
    const Settings& s = *settings;
    if (!below(y, s.samples, network.classes())) return WRONG_CLASS;
    std::fill_n(mean_losses, clients, 0.0);
    std::fill_n(correct, clients, 0);
    // Batches run on from one client to the next, because full ones are faster.
    int64_t client = 0, end = clients ? lengths[0] : 0;
    for (int64_t start = 0; start < s.samples; start += s.batch) {
      const int64_t batch = std::min(s.batch, s.samples - start);
      float* logits = network.forward(x + start * s.features, batch);
      for (int64_t b = 0; b < batch; b++) {
        while (start + b >= end) end += lengths[++client];
        float* sample = logits + b * network.logits_stride();
        correct[client] += largest(sample, network.classes()) == y[start + b];
        mean_losses[client] += cross_entropy(sample, network.classes(), y[start + b], 1, true);
      }
    }
    for (client = 0; client < clients; client++)
      if (lengths[client]) mean_losses[client] /= double(lengths[client]);
    return DONE;
  };
  const int64_t batch = settings->batch;
  return mix ? evaluate(MixtureEvaluation(specs, count, *mix, batch, vector))
             : evaluate(Evaluation(specs, count, batch, vector));
} catch (...) {
  return NO_MEMORY;
}

// The operation of block.h on a batch of images; choices are what its backward pass needs to know.
int flockwise_block_forward(const LayerSpec* spec, int64_t batch, const float* weights, const float* bias,
                            const float* images, float* results, uint8_t* choices) try {
  Block block(*spec, weights, bias);
  const int64_t pixels = spec->height * spec->width * spec->channels;
  const int64_t pooled = block.convolution().windows() * spec->outputs;
  for (int64_t b = 0; b < batch; b++)
    block.forward(images + b * pixels, results + b * pooled, choices + b * pooled);
  return DONE;
} catch (...) {
  return NO_MEMORY;
}

// back is null where nobody asks for the gradient of the images.
int flockwise_block_backward(const LayerSpec* spec, int64_t batch, const float* weights, const float* images,
                             const uint8_t* choices, const float* gradient, float* weight_gradient,
                             float* bias_gradient, float* back) try {
  Block block(*spec, weights, nullptr);
  const int64_t pixels = spec->height * spec->width * spec->channels;
  const int64_t pooled = block.convolution().windows() * spec->outputs;
  for (int64_t b = 0; b < batch; b++)
    block.backward(images + b * pixels, choices + b * pooled, gradient + b * pooled,
                   back ? back + b * pixels : nullptr);
  block.read(weight_gradient, bias_gradient);
  return DONE;
} catch (...) {
  return NO_MEMORY;
}
}
