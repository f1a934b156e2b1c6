"""FL+HC: Tables I to VI, and the IID experiments."""
