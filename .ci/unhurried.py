"""A pytest plug-in that lifts Hypothesis' limit of 200 ms an example, which a busy machine breaks now and then."""

from hypothesis import settings

settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
