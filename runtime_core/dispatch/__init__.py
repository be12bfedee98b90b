"""Who advances runs, and when."""
