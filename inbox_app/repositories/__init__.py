"""Repositories in the window: what they hold, their built-in tools, their builds here and on the platform."""
