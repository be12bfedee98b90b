"""The chat of the window: conversations with agents, their calls as nested cards, their questions inline."""
