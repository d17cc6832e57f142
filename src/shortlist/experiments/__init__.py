"""Recipes, sweeps, figures and reports: what is only needed to compare things."""
