"""Annotators that answer by themselves."""
