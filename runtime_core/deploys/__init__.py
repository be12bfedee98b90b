"""Builds: the deploy loop of the platform, and its counterpart for a repository on this computer."""
