"""Client communities: Figures 2 to 6."""
