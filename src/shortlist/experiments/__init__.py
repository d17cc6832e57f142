"""Sweeps, results, figures and reports: what is only needed to compare methods."""
