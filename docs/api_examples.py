"""A short example for every public name, shown in the API reference. The page is run from top to bottom, as all are."""

# What the examples share; it comes first on the page.
BEGIN = """
import numpy as np
import torch
import flockwise as fw

clients = fw.splits.label_swap(fw.data.digits(), clients=6, groups=2, seed=1)
points = np.array([[0.0, 0.1], [0.1, 0.0], [5.0, 5.1], [5.1, 5.0]], dtype=np.float32)  # four updates
january = fw.run(fw.flic(warmup=1), clients, model=fw.models.softmax, rounds=2, out="runs/january")


def short(method, **more):
    return fw.run(method, clients, model=fw.models.softmax, rounds=1, **more)
"""

EXAMPLES = {
    "Adam": 'short(fw.fedavg(), training=fw.Adam(learning_rate=0.01), out="runs/adam")',
    "AdamW": 'short(fw.fedavg(), training=fw.AdamW(learning_rate=0.01, weight_decay=0.1), out="runs/adamw")',
    "Agglomerative": "away = fw.similarity.l2(points)\nprint(fw.Agglomerative(flocks=2).fit_predict(away))  # [0 0 1 1]",
    "Bipartition": "print(fw.Bipartition().fit_predict(points @ points.T))  # [0 0 1 1]",
    "bulyan": "print(fw.bulyan(np.ones((7, 3), dtype=np.float32), f=1))  # [1. 1. 1.]",
    "byzantine_cfl": 'short(fw.byzantine_cfl(), attack=fw.attacks.reverse(clients=1), out="runs/byzantine-cfl")',
    "centered_clipping": 'short(fw.fedavg(rule=fw.centered_clipping(radius=1.0)), out="runs/centered-clipping")',
    "cfl": 'short(fw.cfl(), out="runs/cfl")',
    "communities": 'short(fw.communities(), out="runs/communities")',
    "Config": 'print(fw.Config(rounds=5).written()["strategy"])  # every resolved value',
    "continue_run": 'fw.continue_run("runs/january", clients, more=1, match="number", out="runs/february")',
    "custom": 'short(fw.custom(clustering="louvain", similarity="one-plus-cosine", first=1), out="runs/custom")',
    "Engine": 'print([name for name in vars(fw.Engine) if name in ("train", "validate", "evaluate")])  # what one must do',
    "fedavg": 'short(fw.fedavg(rule=fw.median()), out="runs/fedavg")',
    "Federation": "x, y = np.eye(4, dtype=np.float32), np.array([0, 1, 0, 1])\n"
    'print(fw.Federation.from_arrays({"north": (x, y), "south": (x, y)}, validation=0).names)',
    "fedopt": 'short(fw.fedopt(), out="runs/fedopt")',
    "fl_hc": 'short(fw.fl_hc(rounds_before=0), out="runs/fl-hc")',
    "flic": 'short(fw.flic(warmup=1), out="runs/flic")',
    "fltrust": 'short(fw.fedavg(rule=fw.fltrust()), root={"samples": 50}, out="runs/fltrust")',
    "fork": 'fw.fork("runs/january", 2, ["rounds=3", "aggregation.name=median"], out="runs/forked")',
    "Gate": "print(fw.Gate(2, max_norm=10.0))  # for models of two numbers; longer updates are rejected",
    "geometric_median": "print(fw.geometric_median(points[:3]).round(2))",
    "ifca": 'short(fw.ifca(flocks=2), out="runs/ifca")',
    "KMeansElbow": "print(len(fw.KMeansElbow(k_max=3).fit_predict(points)))  # 4",
    "krum": "print(fw.krum(np.vstack([points, points[:1]]), f=1))",
    "Leiden": "print(fw.Leiden().fit_predict(np.kron(np.eye(2), np.ones((3, 3)))))  # [0 0 0 1 1 1]",
    "list_runs": 'print([path.name for path, found in fw.list_runs("runs")][:3])',
    "load_config": "from pathlib import Path\n\n"
    'Path("my.toml").write_text("rounds = 3\\n[split]\\nclients = 4\\n")\nprint(fw.load_config("my.toml").rounds)  # 3',
    "load_model": 'model = fw.load_model("runs/january", client=3)  # a torch.nn.Module',
    "Local": 'short(fw.fedavg(), engine=fw.Local(workers=1), out="runs/local")',
    "Louvain": "print(fw.Louvain().fit_predict(np.kron(np.eye(2), np.ones((3, 3)))))  # [0 0 0 1 1 1]",
    "mean": "print(fw.mean(points, weights=np.array([1, 1, 0, 0])))  # [0.05 0.05]",
    "median": "print(fw.median(points[:3]))  # [0.1 0.1]",
    "Method": "from flockwise import stages as do\n\n"
    'short(fw.Method(do.chain(do.train(do.sample), do.average(fw.mean()))), out="runs/own-method")',
    "mini_fl": 'short(fw.mini_fl(), out="runs/mini-fl")',
    "multi_krum": "print(fw.multi_krum(np.vstack([points, points[:1]]), f=1))",
    "norm_bound": 'short(fw.fedavg(rule=fw.norm_bound(radius=1.0)), out="runs/norm-bound")',
    "open_run": 'run = fw.open_run("runs/january")\nprint(run.state, run.flocks)',
    "Optimizer": 'short(fw.fedavg(), training=fw.Optimizer(torch.optim.RMSprop), out="runs/rmsprop")',
    "Progress": 'def told(progress: fw.Progress) -> None:\n    print(progress.round, progress.facts["accuracy"])\n\n\n'
    'short(fw.fedavg(), on_round=told, out="runs/told")',
    "Ray": "print(fw.Ray)  # fw.run(..., engine=fw.Ray(...)): clients train on the workers of a Ray cluster",
    "Report": 'print(fw.Report({"labels": (10,)}, lambda x, y, classes: {"labels": np.bincount(y, minlength=10)}).shapes)',
    "resume": 'fw.resume("runs/january", rounds=3)',
    "Rule": "rule = fw.trimmed_mean(trim=0.2)\nprint(type(rule).__name__, rule)  # ready for a method: fw.flic(rule=rule)",
    "Run": 'print(january.facts["accuracy"], january.summary[0])',
    "run": 'fw.run({"rounds": 1, "split": {"clients": 4}}, out="runs/config")',
    "Server": "server = fw.Server(fw.fedavg(), np.zeros((1, 2), dtype=np.float32), clients=3)\n"
    "print(server.ask().round)  # 1",
    "Setting": "print(fw.Setting(seed=1, fraction=0.5).fraction)  # 0.5",
    "SGD": 'short(fw.fedavg(), training=fw.SGD(epochs=2, learning_rate=0.1, momentum=0.9), out="runs/sgd")',
    "shepherd": 'short(fw.shepherd(), out="runs/shepherd")',
    "State": "print(server.state.labels)  # the flock of each client",
    "strategy": '@fw.strategy("plain averaging, of your own")\n'
    "def plain(*, rule: fw.Rule = fw.mean()) -> fw.Method:\n"
    '    """FedAvg."""\n    return fw.Method(do.chain(do.train(do.sample), do.average(rule)))\n\n\n'
    'short(plain(), out="runs/plain")',
    "Study": 'unfinished = fw.Study({"base": {"rounds": 1}, "seeds": 2}, out="studies/none")\n'
    "print(len(unfinished.missing))",
    "study": "table = fw.study(\n"
    '    {"base": {"rounds": 1, "split": {"clients": 4}}, "vary": {"aggregation.name": ["mean", "median"]}},\n'
    '    out="studies/rules",\n)\nprint(type(table).__name__)',
    "Task": "print(fw.tasks.regression().scoring.name)  # mae",
    "trimmed_mean": "print(fw.trimmed_mean(points, trim=0.25))",
}  # fmt: skip
