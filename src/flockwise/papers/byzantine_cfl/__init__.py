"""Byzantine robustness of clustered federated learning: Table 1 and Figure 2."""
