"""`python -m flockwise`."""

from flockwise.cli import main

main()
