"""The opened repositories: their state, their builds, and which built-in tools are on."""
