"""Advancing durable runs: legs, calls, parking and what a caller is told."""
