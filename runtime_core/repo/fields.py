"""The fields of objects in definition files, and keys that are nearly one of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from difflib import get_close_matches
from itertools import islice
from typing import Any, ClassVar, Final, cast, get_args, get_origin

from pydantic import AliasChoices, BaseModel

Key = tuple[str | int, ...]

_COMPARED: Final = 200
"""Unknown keys of one object that are compared with the known ones."""
_LENGTH: Final = 80


class Fields(BaseModel):
    """A field's description is what to do when it is wrong.

    ``also``: keys that somebody else reads, here or elsewhere. ``guards``: keys without which something would be let
    through, so that one that is nearly such a key is an error; None stands for all.
    """

    also: ClassVar[frozenset[str]] = frozenset()
    guards: ClassVar[frozenset[str] | None] = frozenset()

    @classmethod
    def known(cls) -> Iterator[str]:
        """The keys by which the fields are given."""
        for name, info in cls.model_fields.items():
            given = info.validation_alias
            if isinstance(given, AliasChoices):
                yield from (choice for choice in given.choices if isinstance(choice, str))
            elif isinstance(given, str):
                yield given
            if given is None or cls.model_config.get("validate_by_name"):
                yield name


def misspelt(model: type[Fields], value: object) -> Iterator[tuple[Key, str, bool]]:
    """Place of each unknown key that is nearly a known one, the known one, and whether that is a guard.

    Unknown keys are ignored otherwise (contract 1.1).
    """
    for place, inner, given in _objects(model, value, ()):
        for key, meant in nearly(given, dict.fromkeys((*inner.known(), *sorted(inner.also)))):
            is_guard = inner.guards is None or meant in inner.guards
            if is_guard or meant not in given:
                yield (*place, key), meant, is_guard


def nearly(keys: Iterable[str], known: Collection[str]) -> Iterator[tuple[str, str]]:
    """The keys that are nearly a known one, with that one: the first of those that read alike."""
    plain: dict[str, str] = {}
    for name in known:
        plain.setdefault(_plain(name), name)
    unknown = (key for key in keys if key not in known and not key.startswith(("_", "$")))
    for key in islice(unknown, _COMPARED):
        said = _plain(key[:_LENGTH])
        swapped = [name for name in plain if sorted(name) == sorted(said)]
        if close := swapped or get_close_matches(said, plain, 1, 0.8):
            yield key, plain[close[0]]


def _plain(key: str) -> str:
    return re.sub(r"[\W_]", "", key).casefold()


def _objects(annotation: Any, value: object, key: Key) -> Iterator[tuple[Key, type[Fields], dict[str, Any]]]:
    """The objects in a value that fields speak of, with their places."""
    if isinstance(annotation, type) and issubclass(annotation, Fields):
        if isinstance(value, dict):
            given = cast("dict[str, Any]", value)
            yield key, annotation, given
            for name, info in annotation.model_fields.items():
                alias = info.alias or name
                if alias in given:
                    yield from _objects(info.annotation, given[alias], (*key, alias))
        return
    inner = get_args(annotation)
    if get_origin(annotation) is list and isinstance(value, list):
        for number, item in enumerate(cast("list[object]", value)):
            yield from _objects(inner[0], item, (*key, number))
    elif get_origin(annotation) is dict and isinstance(value, dict):
        for name, item in cast("dict[str, object]", value).items():
            yield from _objects(inner[1], item, (*key, name))
    else:
        for choice in inner:
            yield from _objects(choice, value, key)
