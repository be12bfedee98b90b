"""The run panel: every tool of the opened repositories, started from a form made of its JSON Schema."""
