"""Conversations with the agents of a repository: turns, their events, what is kept of them (contract 6.3, 7, 10)."""
