"""The desktop application: the window and the command line over a runtime."""
