collect_ignore_glob = ["fixtures/*"]
"""Agent repositories hold tests of their own."""
