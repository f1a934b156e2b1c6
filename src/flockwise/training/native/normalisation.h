// Batch normalisation and rectifier: statistics block by block, and both directions value by value.
#pragma once
#include <cmath>
#include "vectors.h"

namespace flockwise {

constexpr int GROUP_VECTORS = PAD / LANES;  // channels are looked at in groups of PAD: whole cache lines
constexpr int64_t MOST_SUMMED = 256;        // rows in float32, before a sum goes on in double

// What a layer knows about its channels once a batch has passed.
struct Channels {
  float *mean, *inverse;  // of the deviation
  float *scale, *shift;   // scale * value + shift is the normalised value
  static constexpr int64_t NUMBERS = 4;

  static Channels at(float* memory, int64_t count) {
    return {memory, memory + count, memory + 2 * count, memory + 3 * count};
  }
};

inline Vec rectified(Vec value) { return value < 0.0f ? Vec{} : value; }  // in this order NaN stays NaN

// Mean and squared deviations of the columns of a matrix that comes in blocks of rows (Chan et al.). Within a block, of
// the distances from its first row: with n rows they lose at most n times as much to rounding as from the mean.
struct Moments {
  int64_t channels, seen;
  double *mean, *squares;

  void add(const float* rows, int64_t count) {
    for (; count > MOST_SUMMED; count -= MOST_SUMMED, rows += MOST_SUMMED * channels) add(rows, MOST_SUMMED);
    const double share = double(count) / double(seen + count);
    for (int64_t c = 0; c < channels; c += PAD) {
      Vec total[GROUP_VECTORS] = {}, squared[GROUP_VECTORS] = {}, first[GROUP_VECTORS];
#pragma GCC unroll 4
      for (int v = 0; v < GROUP_VECTORS; v++) first[v] = load_once(rows + c + v * LANES);
      for (int64_t r = 1; r < count; r++)
#pragma GCC unroll 4
        for (int v = 0; v < GROUP_VECTORS; v++) {
          const Vec off = load(rows + r * channels + c + v * LANES) - first[v];
          total[v] += off;
          squared[v] += off * off;
        }
      for (int i = 0; i < PAD; i++) {
        const double middle = double(total[i / LANES][i % LANES]) / double(count);
        const double spread = double(squared[i / LANES][i % LANES]) - middle * middle * double(count);
        const double delta = double(first[i / LANES][i % LANES]) + middle - mean[c + i];
        squares[c + i] += (spread < 0 ? 0 : spread) + delta * delta * double(seen) * share;
        mean[c + i] += delta * share;
      }
    }
    seen += count;
  }
};

// Like torch: the batch's own variance normalises, the unbiased one joins the running average.
struct Normalisation {
  const float *weight, *bias;
  float *running_mean, *running_variance;
  double epsilon, momentum;

  void finish(const Moments& moments, const Channels& channels) const {
    for (int64_t c = 0; c < moments.channels; c++) {
      const double variance = moments.squares[c] / double(moments.seen);
      const double inverse = 1 / std::sqrt(variance + epsilon);
      channels.mean[c] = float(moments.mean[c]);
      channels.inverse[c] = float(inverse);
      channels.scale[c] = float(weight[c] * inverse);
      channels.shift[c] = float(bias[c] - moments.mean[c] * weight[c] * inverse);
      const double unbiased = moments.squares[c] / double(moments.seen - 1);
      running_mean[c] = float((1 - momentum) * running_mean[c] + momentum * moments.mean[c]);
      running_variance[c] = float((1 - momentum) * running_variance[c] + momentum * unbiased);
    }
  }
};

// A layer's values behind normalisation and rectifier, or as they are where there is no layer (scale is null).
struct Activated {
  const float* values;
  int64_t channels;
  Channels of;

  // LANES channels as a function of the row: what belongs to the channels is loaded once.
  auto column(int64_t channel) const {
    const bool plain = !of.scale;
    const Vec scale = plain ? Vec{} : load(of.scale + channel), shift = plain ? Vec{} : load(of.shift + channel);
    return [=, from = values + channel, stride = channels](int64_t row) {
      __builtin_prefetch(from + row * stride + PAD, 0, 2);
      const Vec value = load(from + row * stride);
      return plain ? value : rectified(value * scale + shift);
    };
  }
};

// The gradient of a layer's values from that of its activations: two sums first, then value by value.
struct NormalisationGradient {
  int64_t channels;
  Channels of;
  double *sum, *product;          // of the rectified gradient, and of it times the distance from the mean
  float *slope, *pull, *offset;  // slope * gradient + pull * (value - mean) + offset

  static constexpr int64_t DOUBLES = 2, FLOATS = 3;

  Vec through_rectifier(Vec value, Vec gradient, int64_t c) const {
    return value * load(of.scale + c) + load(of.shift + c) > 0.0f ? gradient : Vec{};
  }

  void add(const float* values, const float* gradients, int64_t count) {
    for (; count > MOST_SUMMED; count -= MOST_SUMMED) {
      add(values, gradients, MOST_SUMMED);
      values += MOST_SUMMED * channels;
      gradients += MOST_SUMMED * channels;
    }
    for (int64_t c = 0; c < channels; c += PAD) {
      Vec total[GROUP_VECTORS] = {}, products[GROUP_VECTORS] = {};
      for (int64_t r = 0; r < count; r++)
#pragma GCC unroll 4
        for (int v = 0; v < GROUP_VECTORS; v++) {
          const int64_t at = c + v * LANES;
          const Vec value = load(values + r * channels + at);
          const Vec gradient = through_rectifier(value, load(gradients + r * channels + at), at);
          total[v] += gradient;
          products[v] += gradient * (value - load(of.mean + at));
        }
      for (int i = 0; i < PAD; i++) {
        sum[c + i] += double(total[i / LANES][i % LANES]);
        product[c + i] += double(products[i / LANES][i % LANES]);
      }
    }
  }

  // factor times the gradients of the parameters is added to the targets.
  void finish(int64_t rows, double factor, float* weight_target, float* bias_target) const {
    for (int64_t c = 0; c < channels; c++) {
      weight_target[c] += float(factor * product[c] * of.inverse[c]);
      bias_target[c] += float(factor * sum[c]);
      slope[c] = of.scale[c];
      pull[c] = float(-double(of.scale[c]) * of.inverse[c] * of.inverse[c] * product[c] / double(rows));
      offset[c] = float(-double(of.scale[c]) * sum[c] / double(rows));
    }
  }

  auto column(const float* values, const float* gradients, int64_t c) const {
    const Vec scale = load(of.scale + c), shift = load(of.shift + c), mean = load(of.mean + c);
    const Vec slope_ = load(slope + c), pull_ = load(pull + c), offset_ = load(offset + c);
    return [=, values = values + c, gradients = gradients + c, stride = channels](int64_t row) {
      __builtin_prefetch(values + row * stride + PAD, 0, 2);
      __builtin_prefetch(gradients + row * stride + PAD, 0, 2);
      const Vec value = load(values + row * stride), gradient = load(gradients + row * stride);
      const Vec passed = value * scale + shift > 0.0f ? gradient : Vec{};
      return slope_ * passed + pull_ * (value - mean) + offset_;
    };
  }
};

// Write columns(c)(row) of some rows and all channels into a block: a few rows at a time, so that memory is read in order.
template <class Columns>
inline void fill_rows(float* block, int64_t stride, int64_t first, int64_t count, int64_t channels, Columns columns) {
  constexpr int64_t FEW = 8;
  for (int64_t start = 0; start < count; start += FEW) {
    const int64_t stop = start + FEW < count ? start + FEW : count;
    for (int64_t c = 0; c < channels; c += LANES) {
      const auto column = columns(c);
      for (int64_t r = start; r < stop; r++) store(block + r * stride + c, column(first + r));
    }
  }
}

}  // namespace flockwise
