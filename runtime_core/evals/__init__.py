"""Evals of a repository: what is asked, what is expected, and how it came out (contract 11)."""
