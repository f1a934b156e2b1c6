"""FLIC: Tables I and II, Figures 1, 3, 5 and 6."""
