"""Distances between items: what methods that compare items are made of."""
