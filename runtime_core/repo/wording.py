"""What pydantic found, in words for a person who writes JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_WORDS: Final[Mapping[str, str]] = {
    "bool_type": "This should be true or false",
    "dict_type": "This should be an object",
    "extra_forbidden": "This field is not known",
    "finite_number": "This should be a finite number",
    "float_type": "This should be a number",
    "greater_than": "This should be above {gt:g}",
    "greater_than_equal": "This should be at least {ge:g}",
    "int_from_float": "This should be a whole number",
    "int_type": "This should be a whole number",
    "less_than_equal": "This should be at most {le:g}",
    "list_type": "This should be a list",
    "literal_error": "This should be {expected}",
    "missing": "This field is required and missing",
    "model_attributes_type": "This should be an object",
    "model_type": "This should be an object",
    "string_too_short": "This should not be empty",
    "string_type": "This should be a text",
    "string_unicode": "This should be text without half characters",
    "too_short": "This should not be empty",
    "value_error": "{error}",
}


def in_words(problem: ErrorDetails) -> str:
    """One sentence without its full stop."""
    context: dict[str, Any] = problem.get("ctx") or {}
    words = _WORDS.get(problem["type"])
    return words.format(**context) if words else problem["msg"].replace("Input should be", "This should be")
