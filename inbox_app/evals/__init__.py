"""Evals in the window: what they ask, how they came out."""
