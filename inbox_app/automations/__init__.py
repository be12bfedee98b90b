"""Automations in the window: what is started by the clock, and what became of it."""
