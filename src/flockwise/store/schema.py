"""The database of a run."""

FORMAT = (
    3  # raised when an older program could not read a newer run; since 2 every record has a digest, since 3
)
# arrays of many clients are compact

TABLES = """
CREATE TABLE IF NOT EXISTS about (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS clients (
  client INTEGER PRIMARY KEY, name TEXT NOT NULL, truth INTEGER, attacker INTEGER NOT NULL,
  train INTEGER NOT NULL, validation INTEGER NOT NULL, test INTEGER NOT NULL,
  address TEXT, hour REAL, user INTEGER
);
CREATE TABLE IF NOT EXISTS rounds (
  round INTEGER PRIMARY KEY, seconds REAL NOT NULL, checkpoint TEXT, digest TEXT
);
CREATE TABLE IF NOT EXISTS facts (round INTEGER, name TEXT, value REAL, PRIMARY KEY (round, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS arrays (
  round INTEGER, name TEXT, dtype TEXT NOT NULL, shape TEXT NOT NULL, data BLOB NOT NULL,
  PRIMARY KEY (round, name)
);
CREATE TABLE IF NOT EXISTS events (
  id INTEGER PRIMARY KEY, round INTEGER NOT NULL, kind TEXT NOT NULL, client INTEGER,
  message TEXT NOT NULL, detail TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS events_by_round ON events (round);
CREATE TABLE IF NOT EXISTS seals (round INTEGER PRIMARY KEY, checkpoint TEXT, seal TEXT NOT NULL);
"""

CLIENT_COLUMNS = (
    "client",
    "name",
    "truth",
    "attacker",
    "train",
    "validation",
    "test",
    "address",
    "hour",
    "user",
)

COLUMNS = {
    "about": ("key", "value"),
    "clients": CLIENT_COLUMNS,
    "rounds": ("round", "seconds", "checkpoint", "digest"),
    "facts": ("round", "name", "value"),
    "arrays": ("round", "name", "dtype", "shape", "data"),
    "events": ("id", "round", "kind", "client", "message", "detail"),
    "seals": ("round", "checkpoint", "seal"),
}

BY_ROUND = ("rounds", "facts", "arrays", "events", "seals")  # what is forgotten with a round

CLIENTS = "clients."  # arrays of round 0 that begin with it are columns of the table of clients, if there are very many

TIMES = "seconds/"  # facts that begin with it say how long a round's parts took: no two runs agree on them

# Kept in every round by the product itself, where there is something to keep.
KNOWN_ARRAYS = frozenset(
    {"accuracy", "apart", "dendrogram", "flock", "loss", "map", "similarity", "test_loss", "trained"}
)
