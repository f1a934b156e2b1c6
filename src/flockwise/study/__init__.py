"""Studies: one file, one command, an honest table; cells are ordinary runs."""
