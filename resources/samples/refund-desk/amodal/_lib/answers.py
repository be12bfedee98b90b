"""What people answer."""


def is_yes(value):
    return value is True or (isinstance(value, str) and value.strip().lower() in ("yes", "true"))


def words(value):
    """A text answer without the blanks around it, or nothing."""
    return value.strip() if isinstance(value, str) else ""
