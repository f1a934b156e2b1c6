"""Layers of models, in torch: looked into only when a model is made."""
