"""The decoders, a file for each kind of place that bytes come from."""
