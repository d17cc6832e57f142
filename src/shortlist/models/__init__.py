"""Classifiers that a campaign retrains every round."""
