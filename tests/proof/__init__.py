"""Proofs of what the runtime promises. Each has a short form in the suite and a long one: ``python -m tests.proof``."""
