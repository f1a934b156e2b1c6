// What Python calls for graphs of very many clients. Functions return 0, or 1 if memory ran out.
#include <algorithm>
#include <new>

#include "communities.h"
#include "nearest.h"

using namespace flockwise;

extern "C" {

int flockwise_communities(
    int64_t nodes, const int64_t* starts, const int32_t* to, const float* weight, const double* strength,
    double resolution, uint64_t seed, int refine, int64_t times, int32_t* labels) {
  try {
    Graph graph;
    graph.starts.assign(starts, starts + nodes + 1);
    graph.to.assign(to, to + starts[nodes]);
    graph.weight.assign(weight, weight + starts[nodes]);
    graph.strength.assign(strength, strength + nodes);
    for (double one : graph.strength) graph.total += one;
    Labels found(labels, labels + nodes);
    communities(graph, found, resolution, seed, refine != 0, static_cast<int>(times));
    std::copy(found.begin(), found.end(), labels);
    return 0;
  } catch (const std::bad_alloc&) {
    return 1;
  }
}

int flockwise_nearest(
    const float* products, int64_t queries, int64_t candidates, const int32_t* query, const int32_t* candidate,
    int64_t kept, int32_t* ids, float* values) {
  keep_nearest(products, queries, candidates, query, candidate, kept, ids, values);
  return 0;
}
}
