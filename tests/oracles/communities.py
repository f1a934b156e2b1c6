"""The search of clustering/native/communities.h node by node, to the same labels: slow, and without its data structures."""

import numpy as np

Graph = tuple[list[dict[int, float]], list[float]]  # weights toward neighbours, in order; strengths
GAIN, WORD = 1e-12, (1 << 64) - 1


class SplitMix:
    """Vigna's splitmix64, and Fisher-Yates with it."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def __call__(self) -> int:
        self.state = (self.state + 0x9E3779B97F4A7C15) & WORD
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
        return z ^ (z >> 31)

    def order(self, count: int) -> list[int]:
        found = list(range(count))
        for left in range(count - 1, 0, -1):
            other = self() % (left + 1)
            found[left], found[other] = found[other], found[left]
        return found


def compact(labels: list[int]) -> list[int]:
    names: dict[int, int] = {}
    return [names.setdefault(label, len(names)) for label in labels]


def toward(edges: dict[int, float], labels: list[int]) -> dict[int, float]:
    found: dict[int, float] = {}
    for other, weight in edges.items():
        found[labels[other]] = found.get(labels[other], 0.0) + weight
    return found


def move_nodes(graph: Graph, total: float, labels: list[int], resolution: float, queue: list[int]) -> bool:
    edges, strength = graph
    volume = [0.0] * len(edges)
    for node, label in enumerate(labels):
        volume[label] += strength[node]
    empty = [label for label, size in enumerate(volume) if size == 0]
    moved = False
    while queue:
        node = queue.pop(0)
        own, weight, pull = labels[node], strength[node], toward(edges[node], labels)
        volume[own] -= weight
        factor = resolution / total * weight
        best, target = pull.get(own, 0.0) - factor * volume[own] + GAIN * weight, own
        for other, strong in pull.items():
            if strong - factor * volume[other] > best:
                best, target = strong - factor * volume[other], other
        if best < 0 and empty:
            target = empty.pop()
        volume[target] += weight
        if target != own:
            labels[node], moved = target, True
            queue += [other for other in edges[node] if other not in queue and labels[other] != target]
    return moved


def refined(graph: Graph, total: float, labels: list[int], resolution: float, random: SplitMix) -> list[int]:
    edges, strength = graph
    inside = [
        sum(w for other, w in each.items() if labels[other] == labels[n]) for n, each in enumerate(edges)
    ]
    whole = [
        sum(s for s, mine in zip(strength, labels, strict=True) if mine == label)
        for label in range(len(edges))
    ]
    volume, parts, alone = list(strength), list(range(len(edges))), [True] * len(edges)

    def connected(part: int, community: int) -> bool:
        return inside[part] >= resolution / total * volume[part] * (whole[community] - volume[part])

    for node in random.order(len(edges)):
        community = labels[node]
        if not alone[node] or not connected(node, community):
            continue
        pull = toward({other: w for other, w in edges[node].items() if labels[other] == community}, parts)
        best, target = 0.0, node
        for part, strong in pull.items():
            gain = strong - resolution / total * strength[node] * volume[part]
            if part != node and connected(part, community) and gain > best:
                best, target = gain, part
        if target != node:
            inside[target] += inside[node] - 2 * pull[target]
            volume[target] += strength[node]
            volume[node], alone[target], alone[node], parts[node] = 0.0, False, False, target
    return parts


def aggregated(graph: Graph, parts: list[int], count: int) -> Graph:
    edges: list[dict[int, float]] = [{} for _ in range(count)]
    strength = [0.0] * count
    for node, part in enumerate(parts):
        strength[part] += graph[1][node]
        for other, weight in graph[0][node].items():
            if parts[other] != part:
                edges[part][parts[other]] = edges[part].get(parts[other], 0.0) + weight
    return [{other: float(np.float32(w)) for other, w in each.items()} for each in edges], strength


def climb(
    graph: Graph, total: float, labels: list[int], resolution: float, random: SplitMix, refine: bool
) -> list[int]:
    nodes = len(graph[0])
    move_nodes(graph, total, labels, resolution, random.order(nodes))
    labels = compact(labels)
    if max(labels) + 1 in (1, nodes):
        return labels
    parts = compact(refined(graph, total, labels, resolution, random)) if refine else labels
    if max(parts) + 1 == nodes:
        parts = labels
    inside = [0] * (max(parts) + 1)
    for node, part in enumerate(parts):
        inside[part] = labels[node]
    small = aggregated(graph, parts, len(inside))
    inside = climb(small, total, inside, resolution, random, refine)
    return [inside[part] for part in parts]


def communities(
    edges: list[dict[int, float]], resolution: float, seed: int, refine: bool, times: int
) -> list[int]:
    """Labels of a symmetric graph, from single nodes on."""
    graph = edges, [sum(each.values()) for each in edges]
    total, labels, random = sum(graph[1]), list(range(len(edges))), SplitMix(seed)
    for _ in range(times):
        labels = climb(graph, total, labels, resolution, random, refine)
        if not move_nodes(graph, total, labels, resolution, random.order(len(edges))):
            break
        labels = compact(labels)
    return compact(labels)
