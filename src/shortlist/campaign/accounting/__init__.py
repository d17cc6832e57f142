"""What was paid, how long it took, what a round came to, when to stop."""
