"""Automations in the window: when they run, whether they are on, what became of each run."""
