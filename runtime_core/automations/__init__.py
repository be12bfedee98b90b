"""Agents and durable tools that are started by the clock (contract 1.5, decision 34)."""
