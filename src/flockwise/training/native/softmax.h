// Softmax cross-entropy of a batch of logits.
#pragma once
#include <cmath>
#include "vectors.h"

namespace flockwise {

// e^x for x <= 0, within two units in the last place; NaN stays NaN, and below -87 it is zero.
inline Vec exponential(Vec x) {
  // Adding 1.5 * 2^23 rounds to a whole number, which is then in the low bits.
  const Vec shifted = x * 1.44269504f + 12582912.0f;
  const Vec whole = shifted - 12582912.0f;
  const Vec rest = x - whole * 0.693359375f + whole * 2.12194440e-4f;
  Vec series = rest * 1.9875691500e-4f + 1.3981999507e-3f;  // Cephes expf
  series = series * rest + 8.3334519073e-3f;
  series = series * rest + 4.1665795894e-2f;
  series = series * rest + 1.6666665459e-1f;
  series = series * rest + 5.0000001201e-1f;
  series = series * rest * rest + rest + 1.0f;
  IntVec bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  bits = (bits << 23) + (127 << 23);  // 2^whole; the shift drops the rounding constant
  Vec power;
  std::memcpy(&power, &bits, sizeof power);
  return x < -87.0f ? Vec{} : series * power;
}

inline int64_t largest(const float* logits, int64_t classes) {
  int64_t best = 0;
  for (int64_t c = 1; c < classes; c++) {
    const bool more = logits[c] > logits[best] || (logits[c] != logits[c] && logits[best] == logits[best]);
    best = more ? c : best;  // the first NaN, as in torch
  }
  return best;
}

// Turn the logits of one sample into the gradient of `scale` times its loss; returns the loss if wanted.
//
// The row has room for padded(classes) numbers; those past the classes become zero.
inline double cross_entropy(float* logits, int64_t classes, int64_t expected, float scale, bool want_loss) {
  const float most = logits[largest(logits, classes)], right = logits[expected];
  for (int64_t c = classes; c < padded(classes); c++) logits[c] = -INFINITY;
  Vec total = {};
  for (int64_t c = 0; c < padded(classes); c += LANES) {
    const Vec share = exponential(load(logits + c) - most);
    store(logits + c, share);
    total += share;
  }
  const float all = sum(total);
  for (int64_t c = 0; c < padded(classes); c += LANES) store(logits + c, load(logits + c) * (scale / all));
  logits[expected] -= scale;
  return want_loss ? std::log(double(all)) + double(most) - double(right) : 0;
}

}  // namespace flockwise
