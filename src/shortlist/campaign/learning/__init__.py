"""The model in the campaign's own numbers, and what it said about a round's items."""
