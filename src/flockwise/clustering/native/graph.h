// A weighted graph as sparse rows, and how it shrinks to the graph of its communities.
#pragma once
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace flockwise {

typedef std::vector<int32_t> Labels;

struct Graph {
  std::vector<int64_t> starts;  // of each node's edges
  std::vector<int32_t> to;
  std::vector<float> weight;
  std::vector<double> strength;  // what lies inside a node counts too
  double total = 0;              // of all strengths

  int32_t nodes() const { return static_cast<int32_t>(strength.size()); }
};

// The same labels without unused numbers, in order of first use; returns how many.
inline int32_t compact(Labels& labels) {
  Labels name(labels.size(), -1);
  int32_t count = 0;
  for (int32_t& label : labels) {
    if (name[label] < 0) name[label] = count++;
    label = name[label];
  }
  return count;
}

// The nodes of each community, one community behind the other.
struct Members {
  std::vector<int64_t> starts;
  std::vector<int32_t> nodes;

  Members(const Labels& labels, int32_t count) : starts(count + 1, 0), nodes(labels.size()) {
    for (int32_t label : labels) starts[label + 1]++;
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    std::vector<int64_t> next(starts.begin(), starts.end() - 1);
    for (std::size_t node = 0; node < labels.size(); node++) nodes[next[labels[node]]++] = static_cast<int32_t>(node);
  }
};

// Adds up the weights toward labels, and remembers which labels were met.
struct Toward {
  std::vector<double> weight;
  std::vector<int32_t> met;
  std::vector<char> seen;

  explicit Toward(std::size_t labels) : weight(labels, 0.0), seen(labels, 0) {}
  void add(int32_t label, double more) {
    if (!seen[label]) {
      seen[label] = 1;
      met.push_back(label);
    }
    weight[label] += more;
  }
  void clear() {
    for (int32_t label : met) {
      weight[label] = 0;
      seen[label] = 0;
    }
    met.clear();
  }
};

// One node for each community; what lies inside it stays in its strength alone.
inline Graph aggregated(const Graph& graph, const Labels& labels, int32_t count) {
  Graph small;
  small.strength.assign(count, 0.0);
  small.total = graph.total;
  small.starts.assign(1, 0);
  Members members(labels, count);
  Toward toward(count);
  for (int32_t community = 0; community < count; community++) {
    for (int64_t place = members.starts[community]; place < members.starts[community + 1]; place++) {
      const int32_t node = members.nodes[place];
      small.strength[community] += graph.strength[node];
      for (int64_t edge = graph.starts[node]; edge < graph.starts[node + 1]; edge++)
        if (labels[graph.to[edge]] != community) toward.add(labels[graph.to[edge]], graph.weight[edge]);
    }
    for (int32_t other : toward.met) {
      small.to.push_back(other);
      small.weight.push_back(static_cast<float>(toward.weight[other]));
    }
    toward.clear();
    small.starts.push_back(static_cast<int64_t>(small.to.size()));
  }
  return small;
}

}  // namespace flockwise
