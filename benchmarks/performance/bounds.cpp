// What one core can do at most, by loops that do nothing else, and what a linear layer of the kernels takes beside it.
//
// All return CPU seconds of the calling thread, so that two may be asked at once.
#include <sys/mman.h>
#include <time.h>
#include "learner.h"

using namespace flockwise;

static double now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

// Compilers must think that somebody looks at a value, or changes it.
static inline void seen(Vec& value) { asm volatile("" : "+v"(value)); }

template <int COUNT, class Work>
static double repeated(int64_t times, Work work) {
  Vec values[COUNT];
  for (int i = 0; i < COUNT; i++) values[i] = Vec{} + (1.0f + float(i) / 64);
  for (auto& value : values) seen(value);
  const double began = now();
  for (int64_t t = 0; t < times; t++)
#pragma GCC unroll 24
    for (int i = 0; i < COUNT; i++) values[i] = work(values[i]);
  const double took = now() - began;
  for (auto& value : values) seen(value);
  return took;
}

extern "C" {

int64_t bounds_lanes() { return LANES; }

// 16 multiplications with addition that do not wait for one another, so many times.
double bounds_multiply(int64_t times) {
  Vec factor = Vec{} + 0.5f, term = Vec{} + 1.0f;
  seen(factor), seen(term);
  return repeated<16>(times, [=](Vec value) { return value * factor + term; });
}

// 8 times a root and a quotient, as Adam takes for every vector of weights.
double bounds_root(int64_t times) {
  Vec top = Vec{} + 3.0f, epsilon = Vec{} + 1e-8f;
  seen(top), seen(epsilon);
  return repeated<8>(times, [=](Vec value) { return top / (square_root(value) + epsilon); });
}

// Memory of its own, in large pages if that is asked for; null where there is none.
float* bounds_take(int64_t floats, int64_t large) {
  const size_t page = 2 << 20, bytes = (size_t(floats) * 4 + page - 1) / page * page;
  void* memory = std::aligned_alloc(page, bytes);
  if (!memory) return nullptr;
#if defined(MADV_HUGEPAGE)
  madvise(memory, bytes, large ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
#endif
  std::memset(memory, 0, bytes);
  return static_cast<float*>(memory);
}

void bounds_give_back(float* memory) { std::free(memory); }

// Go over some memory again and again: reading it, or adding to it in place.
double bounds_pass(float* memory, int64_t floats, int64_t write, int64_t times) {
  constexpr int VECTORS = 8;
  Vec totals[VECTORS] = {}, term = Vec{} + 1e-9f;
  seen(term);
  const double began = now();
  for (int64_t t = 0; t < times; t++)
    for (int64_t i = 0; i + VECTORS * LANES <= floats; i += VECTORS * LANES)
#pragma GCC unroll 8
      for (int v = 0; v < VECTORS; v++) {
        float* at = memory + i + v * LANES;
        if (write) store(at, load(at) + term);
        else totals[v] += load(at);
      }
  const double took = now() - began;
  for (auto& total : totals) seen(total);
  return took;
}

// A linear layer with rectifier forward, or backward with its step, on a batch of which `live` of the gradients are not
// zero; in the memory that is given, of bounds_linear_floats.
int64_t bounds_linear_floats(int64_t inputs, int64_t outputs) { return outputs * spread(inputs) + padded(outputs); }

double bounds_linear(int64_t inputs, int64_t outputs, int64_t batch, const uint8_t* live, float* weights,
                     float* velocity, float* squares, int64_t optimiser, int64_t backward, int64_t times) {
  const int64_t stride = spread(inputs), wide = spread(outputs);
  const Linear layer{inputs, outputs, stride, 0, outputs * stride, true, true};
  Buffer<float> x(batch * stride), gradient(batch * wide), back(batch * stride), result(batch * wide);
  Buffer<Entry> by_sample(batch * outputs), by_output(batch * outputs);
  Buffer<int32_t> sample_starts(LinearLists::starts(batch, outputs)), output_starts(LinearLists::starts(batch, outputs));
  std::vector<const float*> rows;
  for (int64_t b = 0; b < batch; b++) {
    rows.push_back(x + b * stride);
    for (int64_t i = 0; i < inputs; i++) x[b * stride + i] = float(i % 7) / 8;
    for (int64_t o = 0; o < outputs; o++) gradient[b * wide + o] = live[b * outputs + o] ? 1e-3f : 0.0f;
  }
  const Update update{weights, nullptr, velocity, squares,          1e-6f, 0.9f,
                      1e-4f,   0,       Optimiser(optimiser), optimiser == DESCENT && !velocity};
  const double began = now();
  for (int64_t t = 0; t < times; t++)
    if (backward)
      backward_sparse(layer, update, rows.data(), batch, gradient, wide, {by_sample, by_output, sample_starts, output_starts},
                      back, stride);
    else
      forward(layer, weights, rows.data(), batch, result, wide);
  return now() - began;
}
}
