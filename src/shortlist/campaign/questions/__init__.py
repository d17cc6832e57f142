"""What is asked and what is said: plans become questions, answers are checked and resolved."""
