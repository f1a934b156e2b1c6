// The two functions that Python calls: train a model on a client's samples, and evaluate one.
#include "network.h"

using namespace flockwise;

extern "C" {

struct Settings {
  int64_t epochs, samples, features, batch;
  double rate, momentum, decay, proximal;
};

int flockwise_lanes() { return LANES; }

// Train `vector` in place; orders is [epochs][samples]. Returns 1 if memory runs out, else 0.
int flockwise_train(const LayerSpec* specs, int64_t count, const Settings* settings, float* vector,
                    const float* x, const int64_t* y, const int64_t* orders, double* mean_loss) try {
  const Settings& s = *settings;
  Network network(specs, count, s.batch, true);
  network.write(vector);
  const bool plain = s.momentum == 0 && s.decay == 0 && s.proximal == 0;
  Buffer<float> received(plain ? 0 : network.size()), velocity(plain ? 0 : network.size());
  if (!plain) std::memcpy(received, network.parameters(), network.size() * sizeof(float));
  const Update update{network.parameters(), received,          velocity,          float(s.rate),
                      float(s.momentum),    float(s.decay), float(s.proximal), plain};
  std::vector<const float*> rows(s.batch);
  double loss = 0;
  for (int64_t epoch = 0; epoch < s.epochs; epoch++)
    for (int64_t start = 0; start < s.samples; start += s.batch) {
      const int64_t* order = orders + epoch * s.samples + start;
      const int64_t batch = std::min(s.batch, s.samples - start);
      for (int64_t b = 0; b < batch; b++) rows[b] = x + order[b] * s.features;
      float* logits = network.forward(rows.data(), batch);
      for (int64_t b = 0; b < batch; b++)
        loss += cross_entropy(logits + b * network.logits_stride(), network.classes(), y[order[b]],
                              1.0f / float(batch), epoch + 1 == s.epochs);
      network.backward(batch, update);
    }
  network.read(vector);
  *mean_loss = loss / double(s.samples);
  return 0;
} catch (...) {
  return 1;
}

// Mean loss and number of correct answers on each of several clients' samples, which lie end to end; batches
// never mix clients, so that each gets the same bits as alone. The model is not changed.
int flockwise_evaluate(const LayerSpec* specs, int64_t count, const Settings* settings, const float* vector,
                       const float* x, const int64_t* y, const int64_t* lengths, int64_t clients,
                       double* mean_losses, int64_t* correct) try {
  const Settings& s = *settings;
  Network network(specs, count, s.batch, false);
  network.write(vector);
  std::vector<const float*> rows(s.batch);
  int64_t start = 0;
  for (int64_t client = 0; client < clients; client++) {
    const int64_t end = start + lengths[client];
    double loss = 0;
    correct[client] = 0;
    while (start < end) {
      const int64_t batch = std::min(s.batch, end - start);
      for (int64_t b = 0; b < batch; b++) rows[b] = x + (start + b) * s.features;
      float* logits = network.forward(rows.data(), batch);
      for (int64_t b = 0; b < batch; b++) {
        float* sample = logits + b * network.logits_stride();
        correct[client] += largest(sample, network.classes()) == y[start + b];
        loss += cross_entropy(sample, network.classes(), y[start + b], 1, true);
      }
      start += batch;
    }
    mean_losses[client] = lengths[client] ? loss / double(lengths[client]) : 0;
  }
  return 0;
} catch (...) {
  return 1;
}
}
