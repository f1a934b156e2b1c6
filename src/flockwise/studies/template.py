"""A commented study to start from: it runs as it is, in about a minute."""

TEMPLATE = """\
# A study: every method under every attack, with every seed, in one table.
#   flockwise study THIS_FILE --dry-run    how many cells, how long, how much disk
#   flockwise study THIS_FILE              run what is missing, write tables, figures and a page to studies/NAME

seeds = 3  # or which ones: [0, 1, 2]; with one seed there are no intervals and no marks

[base]  # what all runs have in common: any part of a config (see `flockwise new`)
rounds = 10
data.name = "digits"
split = { name = "label_swap", clients = 20, groups = 2 }
model.name = "mlp"
training = { epochs = 2, learning_rate = 0.1 }

[vary.method]  # an axis: labels, each with the settings it stands for
FedAvg = {}
median = { aggregation.name = "median" }
FLIC = { strategy = { name = "flic", warmup = 4 } }

[vary.attack]
none = {}
noise = { attack = { name = "gaussian", clients = 4 } }
"label flip" = { attack = { name = "label-flip", clients = 4 } }

# An axis can also be a list of values of one field:
# [vary]
# "split.groups" = [1, 2, 4]

# Cells to leave out, and settings for some cells only; labels may be lists:
# skip = [{ method = "median", attack = ["noise"] }]  # goes above [base], as every field that is no section
# [[adjust]]
# where = { attack = "label flip" }
# set = { rounds = 20 }

[show]
numbers = ["accuracy", "accuracy_worst_group"]  # the first is compared in figures; docs/vocabulary.md has them all
worst = "attack"  # one more column: the worst over this axis
# rows = "method"  # axes down the side; default: the first
# figures = ["heat", "curves", "seeds", "when"]

# How a number is read, if not at the last round:
# [numbers.accuracy]
# last = 5  # mean over the last rounds
# percent = true

# A fair search: every method gets the same number of tries, judged on validation data alone.
# A list is tried whole; ranges are searched by Optuna (pip install 'flockwise[tuning]').
# [tune]
# search = { "training.learning_rate" = [0.03, 0.1, 0.3] }
# tries = 3

# Smaller or larger versions, chosen by --scale:
[scales]
smoke = { rounds = 2, split = { clients = 6 } }
"""
