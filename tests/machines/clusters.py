"""Ray clusters of several nodes on this machine, for tests."""

import gc
import warnings
from typing import Any

# A death is noticed in a second.
HEALTH = {
    "health_check_initial_delay_ms": 300,
    "health_check_period_ms": 300,
    "health_check_timeout_ms": 3000,
    "health_check_failure_threshold": 3,
}


def started(nodes: int) -> Any:
    """A head that only manages, and nodes of one core."""
    from ray.cluster_utils import Cluster

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Ray leaves files open when it starts nodes
        head = {"num_cpus": 0, "include_dashboard": False, "_system_config": HEALTH}
        made = Cluster(initialize_head=True, head_node_args=head)
        for _ in range(nodes):
            made.add_node(num_cpus=1)
        gc.collect()
    return made


def ended(cluster: Any) -> None:
    """End it; the files that Ray leaves open are closed here, where nobody minds."""
    import ray

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ray.shutdown()
        cluster.shutdown()
        gc.collect()
