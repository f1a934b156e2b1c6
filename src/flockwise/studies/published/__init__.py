"""What was published beside what was measured: numbers, claims and readings of a paper, and what can be said of them."""
