"""The text of a ``config.toml`` as `Settings`: what cannot be used is named, and its default stands in its place."""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, cast, get_args

from runtime_core.wire.settings import (
    KIB,
    MIB,
    Confirmations,
    DefaultModels,
    Durability,
    Limits,
    Platform,
    Retention,
    Settings,
)

_Problem = str | None

SIZE_LIMIT: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Config:
    """What a file says. ``warnings``: a sentence for every part of it that has no effect, with file and line."""

    settings: Settings
    warnings: tuple[str, ...] = ()


def load(path: Path, *, must_exist: bool = False) -> Config:
    """Read a file. Never fails: without a usable file these are the defaults, and a warning says why."""
    try:
        if not path.is_file() and path.exists() and str(path) != os.devnull:
            return _unusable(path, "it is no file. Correct the path")
        with path.open("rb") as file:
            content = file.read(SIZE_LIMIT + 1)
        if len(content) > SIZE_LIMIT:
            return _unusable(path, f"it has more than {SIZE_LIMIT:,} bytes. Correct the path")
        text = content.decode("utf-8-sig")
    except FileNotFoundError:
        if not must_exist:
            return Config(Settings())
        return _unusable(path, "it is not there. Make it, or correct the path")
    except UnicodeDecodeError as error:
        return _unusable(path, f"it is not UTF-8 text (byte {error.start}). Save it as UTF-8")
    except OSError as error:
        return _unusable(path, f"it cannot be read ({error.strerror}). Give yourself permission to read it")
    return read(text, path)


def read(text: str, path: Path) -> Config:
    """The settings a text holds; ``path`` is what the warnings call it."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return _unusable(path, f"it is not TOML: {error}")
    values: dict[str, dict[str, Any]] = {section: {} for section in _KEYS}
    warnings: list[str] = []
    for names, value, problem in _parts(tables):
        if problem is None:
            values[names[0]][names[1]] = value
        else:
            warnings.append(f"{path}{_line(text, names)}: {'.'.join(names)} {problem}")
    settings = Settings(
        limits=replace(Limits(), **values["limits"]),
        retention=replace(Retention(), **values["retention"]),
        confirmations=replace(Confirmations(), **values["confirmations"]),
        platform=replace(Platform(), **values["platform"]),
        models=replace(DefaultModels(), **values["models"]),
        **values["journal"],
        **values["development"],
        **values["sandbox"],
    )
    return Config(settings, tuple(warnings))


def _unusable(path: Path, reason: str) -> Config:
    return Config(Settings(), (f"{path}: {reason}. Until then every setting has its default.",))


def _parts(tables: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Any, _Problem]]:
    """Every key of the file with its value and what is wrong with it, in the order of the file."""
    for section, keys in tables.items():
        known = _KEYS.get(section)
        if known is None:
            kind = "table" if isinstance(keys, dict) else "key"
            yield (section,), keys, f"is no {kind} of this file and has no effect.{_meant(section, _KEYS)}"
        elif not isinstance(keys, dict):
            yield (section,), keys, f"must be a table: write [{section}] on a line of its own and its keys below."
        else:
            for key, value in cast("dict[str, Any]", keys).items():
                check = known.get(key)
                problem = check(value) if check is not None else f"is unknown and has no effect.{_meant(key, known)}"
                yield (section, key), value, problem


def _meant(name: str, known: Mapping[str, Any]) -> str:
    close = difflib.get_close_matches(name, known, 1)
    return f' Did you mean "{close[0]}"?' if close else f" Known are: {', '.join(known)}."


_WORD: Final = r"(?:[\w-]+|\"[^\"]*\"|'[^']*')"
_HEAD: Final = re.compile(rf"\s*\[\s*({_WORD}(?:\s*\.\s*{_WORD})*)\s*\]")
_PAIR: Final = re.compile(rf"\s*({_WORD}(?:\s*\.\s*{_WORD})*)\s*=")


def _line(text: str, names: tuple[str, ...]) -> str:
    """`` line N`` where the key or its table stands, as far as one can tell without a parser of one's own."""
    table: tuple[str, ...] = ()
    best = ""
    for number, line in enumerate(text.splitlines(), 1):
        if head := _HEAD.match(line):
            table = found = _words(head[1])
        elif pair := _PAIR.match(line):
            found = (*table, *_words(pair[1]))
        else:
            continue
        if found == names:
            return f", line {number}"
        if not best and found == names[: len(found)]:
            best = f", line {number}"
    return best


def _words(dotted: str) -> tuple[str, ...]:
    return tuple(word.strip("\"'") for word in re.findall(_WORD, dotted))


def _shown(value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def _whole(low: int, high: int) -> Callable[[Any], _Problem]:
    def check(value: Any) -> _Problem:
        if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
            return None
        return f"must be a whole number from {low} to {high}, not {_shown(value)}; its default stays in force."

    return check


def _days(value: Any) -> _Problem:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 36_500:
        return None
    return f"must be a number of days from 0 (for ever) to 36500, not {_shown(value)}; its default stays in force."


def _seconds(value: Any) -> _Problem:
    if isinstance(value, int | float) and not isinstance(value, bool) and 1 <= value <= 86_400:
        return None
    return f"must be a number of seconds from 1 to 86400, not {_shown(value)}; its default stays in force."


def _word_of(*words: str) -> Callable[[Any], _Problem]:
    def check(value: Any) -> _Problem:
        if value in words:
            return None
        return f"must be {' or '.join(map(repr, words))}, not {_shown(value)}; its default stays in force."

    return check


def _flag(value: Any) -> _Problem:
    return (
        None if isinstance(value, bool) else f"must be true or false, not {_shown(value)}; its default stays in force."
    )


def _text(value: Any) -> _Problem:
    if isinstance(value, str) and len(value) <= 2000 and value.isprintable():
        return None
    return f"must be a text on one line, not {_shown(value)}; its default stays in force."


def _route(value: Any) -> _Problem:
    if _text(value) is None and value.startswith("/") and not value.startswith("//"):
        return None
    return f"must be a path that begins with a slash, not {_shown(value)}; its default stays in force."


def _model(value: Any) -> _Problem:
    """Whether the provider is known is said where the model is used."""
    if value == "":
        return None
    if not isinstance(value, str) or re.fullmatch(r"[^:@\s]+:\S.*", value) is None:
        example = '"anthropic:claude-sonnet-4-5" or "openai:NAME@http://localhost:11434/v1"'
        return f"must name a model, such as {example}, not {_shown(value)}; it is not used."
    provider, _, name = value.partition(":")
    if provider == "scripted" and not Path(name).expanduser().is_absolute():
        return f"must name the whole path of the file, not {_shown(value)}; it is not used."
    return None


_KEYS: Final[Mapping[str, Mapping[str, Callable[[Any], _Problem]]]] = {
    "limits": {
        "entries": _whole(1, 1_000_000),
        "value": _whole(KIB, 8 * MIB),
        "reading": _whole(KIB, 32 * MIB),
        "run": _whole(KIB, KIB * MIB),
        "branches": _whole(1, 100_000),
        "question": _whole(64, MIB),
    },
    "retention": {"journal_days": _days},
    "journal": {"durability": _word_of(*get_args(Durability))},
    "development": {"strict": _flag, "replay_twice": _flag},
    "sandbox": {"shell_exec": _flag},
    "confirmations": {"wait_s": _seconds},
    "models": {"main": _model, "simple": _model, "advanced": _model},
    "platform": {
        "api_base": _text,
        "agent_id": _text,
        "branch": _text,
        "environment": _text,
        "tools_route": _route,
    },
}
