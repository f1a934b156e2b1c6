// Communities of high modularity: local moves, Leiden's refinement, and the same on the graph of the parts.
//
// The same algorithm as search.py, local_moves.py and refinement.py; what a node does depends on the order alone, so
// a graph and a seed always give the same communities.
#pragma once
#include "graph.h"

namespace flockwise {

constexpr double GAIN = 1e-12;  // smaller gains, relative to a node's strength, are rounding

struct Random {  // splitmix64
  uint64_t state;
  uint64_t next() {
    uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  std::vector<int32_t> order(int32_t count) {
    std::vector<int32_t> found(count);
    std::iota(found.begin(), found.end(), 0);
    for (int32_t left = count - 1; left > 0; left--) std::swap(found[left], found[next() % (left + 1)]);
    return found;
  }
};

// Moves single nodes while modularity rises; a node whose neighbour has moved is looked at again.
inline bool move_nodes(const Graph& graph, Labels& labels, double resolution, std::vector<int32_t> queue) {
  const int32_t nodes = graph.nodes();
  const double factor = resolution / graph.total;
  std::vector<double> volume(nodes, 0.0);
  for (int32_t node = 0; node < nodes; node++) volume[labels[node]] += graph.strength[node];
  std::vector<int32_t> empty;  // communities without members, for nodes that are better off alone
  for (int32_t label = 0; label < nodes; label++)
    if (volume[label] == 0) empty.push_back(label);
  std::vector<char> waiting(nodes, 1);
  Toward toward(nodes);
  bool moved = false;
  // A ring, since a node waits at most once.
  const std::size_t room = queue.size();
  for (std::size_t head = 0, left = room; left > 0; left--) {
    const int32_t node = queue[head];
    head = head + 1 == room ? 0 : head + 1;
    waiting[node] = 0;
    for (int64_t edge = graph.starts[node]; edge < graph.starts[node + 1]; edge++)
      toward.add(labels[graph.to[edge]], graph.weight[edge]);
    const int32_t own = labels[node];
    const double weight = graph.strength[node];
    volume[own] -= weight;
    double best = toward.weight[own] - factor * weight * volume[own] + GAIN * weight;
    int32_t target = own;
    for (int32_t other : toward.met) {
      const double gain = toward.weight[other] - factor * weight * volume[other];
      if (gain > best) {
        best = gain;
        target = other;
      }
    }
    if (best < 0 && !empty.empty()) {  // alone it would gain 0
      target = empty.back();
      empty.pop_back();
    }
    volume[target] += weight;
    toward.clear();
    if (target == own) continue;
    labels[node] = target;
    moved = true;
    for (int64_t edge = graph.starts[node]; edge < graph.starts[node + 1]; edge++) {
      const int32_t other = graph.to[edge];
      if (waiting[other] || labels[other] == target) continue;
      waiting[other] = 1;
      queue[(head + left - 1) % room] = other;
      left++;
    }
  }
  return moved;
}

// Parts of the communities, grown from single nodes (Traag et al. 2019, Algorithm A.2): well connected inside.
inline Labels refined(const Graph& graph, const Labels& labels, double resolution, Random& random) {
  const int32_t nodes = graph.nodes();
  const double factor = resolution / graph.total;
  std::vector<double> whole(nodes, 0.0), volume(graph.strength), outward(nodes, 0.0);
  for (int32_t node = 0; node < nodes; node++) {
    whole[labels[node]] += graph.strength[node];
    for (int64_t edge = graph.starts[node]; edge < graph.starts[node + 1]; edge++)
      if (labels[graph.to[edge]] == labels[node]) outward[node] += graph.weight[edge];
  }
  Labels parts(nodes);
  std::iota(parts.begin(), parts.end(), 0);
  std::vector<char> alone(nodes, 1);
  auto connected = [&](int32_t part, int32_t community) {
    return outward[part] >= factor * volume[part] * (whole[community] - volume[part]);
  };
  Toward toward(nodes);
  for (int32_t node : random.order(nodes)) {
    const int32_t community = labels[node];
    if (!alone[node] || !connected(node, community)) continue;
    for (int64_t edge = graph.starts[node]; edge < graph.starts[node + 1]; edge++)
      if (labels[graph.to[edge]] == community) toward.add(parts[graph.to[edge]], graph.weight[edge]);
    double best = 0;
    int32_t target = node;
    for (int32_t part : toward.met) {
      if (part == node || !connected(part, community)) continue;
      const double gain = toward.weight[part] - factor * graph.strength[node] * volume[part];
      if (gain > best) {
        best = gain;
        target = part;
      }
    }
    if (target != node) {
      outward[target] += outward[node] - 2 * toward.weight[target];
      volume[target] += graph.strength[node];
      volume[node] = 0;
      alone[target] = 0;
      alone[node] = 0;
      parts[node] = target;
    }
    toward.clear();
  }
  return parts;
}

// Local moves, then the same on the graph of parts, until nothing merges any more.
inline void climb(const Graph& graph, Labels& labels, double resolution, Random& random, bool refine) {
  move_nodes(graph, labels, resolution, random.order(graph.nodes()));
  const int32_t count = compact(labels);
  if (count == graph.nodes() || count == 1) return;
  Labels parts = refine ? refined(graph, labels, resolution, random) : labels;
  int32_t parts_count = compact(parts);
  if (parts_count == graph.nodes()) {
    parts = labels;
    parts_count = count;
  }
  Labels inside(parts_count);
  for (int32_t node = 0; node < graph.nodes(); node++) inside[parts[node]] = labels[node];
  Graph small = aggregated(graph, parts, parts_count);
  climb(small, inside, resolution, random, refine);
  for (int32_t node = 0; node < graph.nodes(); node++) labels[node] = inside[parts[node]];
}

// Climbs again from where single nodes could still move, at most `times`.
inline void communities(const Graph& graph, Labels& labels, double resolution, uint64_t seed, bool refine, int times) {
  Random random{seed};
  for (int time = 0; time < times; time++) {
    climb(graph, labels, resolution, random, refine);
    if (!move_nodes(graph, labels, resolution, random.order(graph.nodes()))) break;
    compact(labels);
  }
  compact(labels);
}

}  // namespace flockwise
