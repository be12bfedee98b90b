"""Checks a data folder and says in sentences what is wrong with it and what to do."""
