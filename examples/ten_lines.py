"""The Python API in ten lines; `make check` type-checks this file, the tests run it."""

import flockwise as fw

clients = fw.splits.label_swap(fw.data.digits(), clients=20, groups=4, seed=1)
run = fw.run(
    fw.flic(warmup=10, rule=fw.median()),
    clients,
    model=fw.models.mlp,
    training=fw.SGD(epochs=3, learning_rate=0.1),
    attack=fw.attacks.reverse(clients=3),
    rounds=16,
)
print(run, run.flocks, run.model(flock=0), run.report())
