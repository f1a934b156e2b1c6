"""Fuzzers: hostile bytes for everything of ours that reads bytes.

    python -m tests.reliability.fuzz                          # which decoders there are
    python -m tests.reliability.fuzz all --inputs 1000000     # all of them in full; hours; in pieces, goes on where it was

`decoders/` has one function for each decoder. `test_fuzz.py` tries a few inputs of each, made by seeded mutations;
the command above lets atheris look for inputs that reach new code, where it is installed.
"""
