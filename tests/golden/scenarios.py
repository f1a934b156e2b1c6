"""Small runs that together pass through every strategy and every choice a strategy has."""

from typing import Any

BASE: dict[str, Any] = {
    "name": "golden",
    "seed": 3,
    "rounds": 13,
    "data": {"name": "digits"},
    "split": {"name": "label_swap", "clients": 10, "groups": 2},
    "model": {"name": "softmax"},
    "training": {"epochs": 2, "batch_size": 16, "learning_rate": 0.2},
    "checkpoint": {"every": 1},
    "engine": {"workers": 1},
}
ATTACK = {"attack": {"name": "reverse", "clients": 3, "scale": 3.0}}
DROPOUT = {"faults": {"dropout": 0.3}, "sampling": {"fraction": 0.7}}
GROUPS = {"split": {"name": "noniid_degree", "clients": 20, "degree": 1.0, "visible": "geo"}}
STRATEGIES = (
    "fedavg", "fl-hc", "cfl", "byzantine-cfl", "flic", "communities", "ifca", "mini-fl", "custom",
)  # fmt: skip


def _of(strategy: str, *more: dict[str, Any], **options: Any) -> dict[str, Any]:
    content = {**BASE, "strategy": {"name": strategy, **options}}
    if strategy == "mini-fl":
        content |= GROUPS
    for sections in more:
        content |= sections
    return content


def _every_strategy() -> dict[str, dict[str, Any]]:
    found = {}
    for name in STRATEGIES:
        found[f"{name}, defaults"] = _of(name)
        found[f"{name}, attack"] = _of(name, ATTACK)
        found[f"{name}, dropouts"] = _of(name, DROPOUT)
    return found


def _judged() -> dict[str, dict[str, Any]]:
    wolves = {"attack": {"name": "reverse", "clients": 4, "scale": 5.0}}
    root = {"root": {"samples": 40}}
    quick = {"judge_after": 2, "rollback": True, "snapshot_every": 2}
    return {
        "flic, judge validation and roll-back": _of("flic", wolves, warmup=4, judge="validation", **quick),
        "flic, judge root": _of("flic", wolves, root, warmup=4, judge="root", **quick),
        "flic, judge largest": _of("flic", wolves, warmup=4, judge="largest", rollback=True),
        "fl-hc, judge validation and roll-back": _of(
            "fl-hc", wolves, rounds_before=3, judge="validation", **quick
        ),
        "custom, judge validation and roll-back": _of("custom", wolves, judge="validation", **quick),
    }


def _choices() -> dict[str, dict[str, Any]]:
    drift = {"faults": {"drift_clients": 2, "drift_round": 8}}
    late = {"faults": {"late_clients": 3, "late_round": 7}, "sampling": {"fraction": 0.6}}
    blind = {"split": {**BASE["split"], "validation": 0.0}, **late}
    root = {"root": {"samples": 40}, "aggregation": {"name": "fltrust"}}
    krum = {"aggregation": {"name": "krum", "attackers": 2}}
    mixing = {
        "aggregation": {"name": "median", "attackers": 2, "before": ["nearest-neighbor-mixing", "bucketing"]}
    }
    return {
        "fl-hc, repeated from members": _of("fl-hc", rounds_before=2, repeat=4, start="members"),
        "fl-hc, repeated from the joint model": _of("fl-hc", drift, rounds_before=2, repeat=4),
        "fl-hc, ward": _of("fl-hc", rounds_before=3, metric="l2", linkage="ward", flocks=3),
        "flic, newcomers": _of("flic", late, warmup=4),
        "flic, newcomers without validation data": _of("flic", blind, warmup=4),
        "flic, follows drift": _of("flic", drift, warmup=4, follow=0.02),
        "flic, forgets": _of("flic", DROPOUT, max_age=2, self_loops=True, refine=None),
        "flic, fltrust": _of("flic", ATTACK, root, warmup=4),
        "flic, krum": _of("flic", ATTACK, krum, warmup=4),
        "fedavg, krum": _of("fedavg", ATTACK, krum),
        "fedavg, mixing": _of("fedavg", ATTACK, mixing),
        "fedavg, fltrust": _of("fedavg", ATTACK, root, DROPOUT),
        "cfl, gates": _of("cfl", late, eps1=2.0, eps2=0.1, decay=0.1, threshold=0.3, first=3),
        "byzantine-cfl, dropouts and attack": _of("byzantine-cfl", ATTACK, DROPOUT, threshold=0.3),
        "communities, avg": _of("communities", attribution="avg"),
        "communities, wnn": _of("communities", DROPOUT, attribution="wnn", resolution=1.3),
        "communities, late": _of("communities", DROPOUT, attribution="late", late_from=4),
        "ifca, restarts and warm start": _of("ifca", restarts=2, probe=2, warm_start=2),
        "mini-fl, median against attackers": _of(
            "mini-fl", ATTACK, {"aggregation": {"name": "median", "attackers": 3}}, group_weights="size"
        ),
        "mini-fl, groups from updates": _of("mini-fl", groups_from="updates"),
        "custom, splits inside": _of(
            "custom", evidence="this-round", scope="within", when="every", clustering="bipartition",
            start="own", clustering_parameters={"threshold": 0.3},
        ),
        "custom, keeps the largest": _of(
            "custom", ATTACK, evidence="this-round", scope="within", when="every", clustering="bipartition",
            keep="largest", similarity="l2", clustering_parameters={"threshold": 0.5},
        ),
        "custom, census": _of("custom", evidence="this-round", census=True, when="every", first=2, every=5),
        "custom, census from members": _of(
            "custom", evidence="this-round", census=True, when="every", first=2, every=5, start="own",
            similarity="l2", clustering="agglomerative",
        ),
        "custom, metadata": _of("custom", GROUPS, evidence="metadata", attribution="one-model"),
        "custom, metadata and flocks": _of("custom", GROUPS, evidence="metadata", place="largest"),
        "custom, known models": _of("custom", DROPOUT, aggregate="known", similarity="trusted", power=3.0),
        "custom, one model": _of("custom", attribution="one-model", group_weights="size"),
        "custom, wnn": _of("custom", DROPOUT, attribution="wnn", when="every", first=2, every=2),
        "custom, stable": _of("custom", DROPOUT, when="stable", patience=3, clustering="leiden", min_separation=1.0),
        "custom, points": _of("custom", clustering="kmeans-elbow", evidence="latest-models"),
        "custom, never": _of("custom", when="never"),
    }  # fmt: skip


SCENARIOS: dict[str, dict[str, Any]] = {**_every_strategy(), **_judged(), **_choices()}
