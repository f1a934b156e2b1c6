// What Python calls: a training step of convolutions with batch normalisation and rectifier, for autograd.
#include "chain.h"

using namespace flockwise;

extern "C" {

// How many numbers go from the forward pass to the backward pass.
int64_t flockwise_chain_floats(const ChainLayer* layers, int64_t count, int64_t batch) {
  return Chain::floats(layers, count, batch);
}

// Both return 1 if memory runs out, else 0.
int64_t flockwise_chain_forward(const ChainLayer* layers, int64_t count, int64_t batch, const float* images,
                            float* memory, float* result) try {
  Chain(layers, count, batch, images, memory).forward(result);
  return 0;
} catch (...) {
  return 1;
}

// back is null where nobody asks for the gradient of the images.
int64_t flockwise_chain_backward(const ChainLayer* layers, int64_t count, int64_t batch, const float* images,
                             float* memory, const float* gradient, float* back) try {
  Chain(layers, count, batch, images, memory).backward(gradient, back);
  return 0;
} catch (...) {
  return 1;
}
}
