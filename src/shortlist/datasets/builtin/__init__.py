"""Datasets that come with Shortlist or are made by it."""
