"""The call tree of runs."""
