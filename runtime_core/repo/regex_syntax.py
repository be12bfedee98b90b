"""From the syntax of JavaScript's regular expressions to that of the engine (ECMA-262, with its annex for browsers).

Everything is written out: the engine knows other letters, digits, spaces, line ends and cases than JavaScript.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

import regex

from runtime_core.repo.regex_letters import (
    DIGITS,
    LINE_ENDS,
    SPACE,
    WORD,
    Ranges,
    in_any_case,
    others,
    ranges,
)

_FLAGS: Final = frozenset("dgimsuvy")
_NUMBER: Final = re.compile(r"[1-9][0-9]*", re.ASCII)
_REPEAT: Final = re.compile(r"\{(\d+)(?:(,)(\d*))?\}", re.ASCII)
_GROUP: Final = re.compile(r"\?(?:<([^=!>][^>]*)>|(<=|<!|=|!|:)|([ims]*)(?:-([ims]*))?:)")
_NAMED: Final = re.compile(r"(?<!\\)(?:\\\\)*\(\?<([^=!>][^>]*)>")
_OCTAL: Final = re.compile(r"[0-3][0-7]{0,2}|[4-7][0-7]?", re.ASCII)
_HEX: Final = re.compile(r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})")
_LONG_HEX: Final = re.compile(r"u\{([0-9A-Fa-f]+)\}")
_LOW_HALF: Final = re.compile(r"\\u([dD][c-fC-F][0-9A-Fa-f]{2})")
_PROPERTY: Final = re.compile(r"[pP]\{(\w+(?:=\w+)?)\}", re.ASCII)
_KNOWN_PROPERTY: Final = re.compile(
    r"(?:General_Category|gc|Script|sc|Script_Extensions|scx)=[A-Z]\w*|[A-Z][A-Za-z]?|[A-Z][a-z]+(?:_[A-Z][a-z]+)*"
    r"|ASCII(?:_Hex_Digit)?|ID_(?:Start|Continue)|XID_(?:Start|Continue)|Bidi_[CM]\w*|NF\w+|CW\w+|LC",
    re.ASCII,
)
_CONTROLS: Final = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13}
_SETS: Final = {"d": DIGITS, "s": SPACE, "w": WORD}
_SYNTAX: Final = frozenset("^$\\.*+?()[]{}|/")
_SETS_SYNTAX: Final = "&!#%,:;<=>@`~"
_NEVER: Final = "(?!)"


class UnsupportedPattern(Exception):  # noqa: N818
    """A pattern that is fine in JavaScript and has no counterpart here, with the reason."""


class BrokenPattern(Exception):  # noqa: N818
    """A pattern that is no regular expression, with the reason."""


def are_flags(text: str) -> bool:
    return set(text) <= _FLAGS and len(set(text)) == len(text) and not {"u", "v"} <= set(text)


def translated(pattern: str, flags: str) -> str:
    """Raises `BrokenPattern` and `UnsupportedPattern`, and `RecursionError` for one that is too deep."""
    if not are_flags(flags):
        raise BrokenPattern(f'"{flags}" is no set of flags')
    return _Reader(pattern, is_unicode="u" in flags or "v" in flags, has_sets="v" in flags).read(
        _Mode(any_case="i" in flags, by_line="m" in flags, dot_is_all="s" in flags)
    )


@dataclass(frozen=True, slots=True)
class _Mode:
    """The flags ``i``, ``m`` and ``s``, which a group may change for what is in it."""

    any_case: bool
    by_line: bool
    dot_is_all: bool


@dataclass(frozen=True, slots=True)
class _Set:
    """Characters of a class: those in ranges, and those with properties, as the engine writes them."""

    these: Ranges = ()
    properties: str = ""

    def __or__(self, other: _Set) -> _Set:
        return _Set(ranges([*self.these, *other.these]), self.properties + other.properties)


class _Reader:
    def __init__(self, pattern: str, *, is_unicode: bool, has_sets: bool) -> None:
        self._pattern = pattern
        self._is_unicode = is_unicode
        self._has_sets = has_sets
        self._at = 0
        self._names = _NAMED.findall(_without_classes(pattern))
        self._groups = len(re.findall(r"\((?!\?)", _without_classes(pattern))) + len(self._names)

    def read(self, mode: _Mode) -> str:
        found = self._choice(mode)
        if self._at < len(self._pattern):
            raise BrokenPattern("there is a ) without its (")
        return found

    def _choice(self, mode: _Mode) -> str:
        out: list[str] = []
        while self._at < len(self._pattern) and self._pattern[self._at] != ")":
            out.append("|" if self._takes("|") else self._term(mode))
        return "".join(out)

    def _term(self, mode: _Mode) -> str:
        start = self._at
        atom, is_repeatable = self._atom(mode)
        times = self._times()
        if times and not is_repeatable:
            raise BrokenPattern(f"there is nothing to repeat at position {start}")
        return f"(?:{atom}){times}" if times else atom

    def _times(self) -> str:
        found = _REPEAT.match(self._pattern, self._at)
        if found is not None:
            low, high = int(found[1]), int(found[3]) if found[3] else None
            if high is not None and high < low:
                raise BrokenPattern(f"{found[0]} counts backwards")
            self._at = found.end()
            times = found[0]
        elif self._pattern[self._at : self._at + 1] in ("*", "+", "?"):
            times = self._next()
        else:
            return ""
        return times + ("?" if self._takes("?") else "")

    def _atom(self, mode: _Mode) -> tuple[str, bool]:
        """What is next, and whether it can be repeated."""
        char = self._next()
        match char:
            case "^":
                return (f"(?:\\A|(?<={_written(_Set(LINE_ENDS))}))" if mode.by_line else r"\A"), False
            case "$":
                return (f"(?:\\Z|(?={_written(_Set(LINE_ENDS))}))" if mode.by_line else r"\Z"), False
            case ".":
                return _written(_Set(others(() if mode.dot_is_all else LINE_ENDS))), True
            case "(":
                return self._group(mode)
            case "[":
                return self._class(mode), True
            case "\\":
                return self._escape(mode)
            case "*" | "+" | "?":
                raise BrokenPattern(f"there is nothing to repeat at position {self._at - 1}")
            case "{" if _REPEAT.match(self._pattern, self._at - 1):
                raise BrokenPattern(f"there is nothing to repeat at position {self._at - 1}")
            case "{" | "}" | "]" if self._is_unicode:
                raise BrokenPattern(f"there is a {char} without its counterpart at position {self._at - 1}")
            case _:
                return self._cased(_Set([(ord(char), ord(char))]), mode), True

    def _group(self, mode: _Mode) -> tuple[str, bool]:
        start = self._at
        opening, is_repeatable = "(", True
        if self._pattern[start : start + 1] == "?":
            found = _GROUP.match(self._pattern, start)
            if found is None:
                raise BrokenPattern(f"unknown kind of group at position {start - 1}")
            self._at = found.end()
            name, look, on, off = found.groups()
            if name is not None:
                opening = f"(?P<{_name(name)}>"
            elif look is not None:
                opening = f"(?{look}"
                is_repeatable = look == ":" or (look in ("=", "!") and not self._is_unicode)
            else:
                opening, mode = "(?:", _changed(mode, on, off or "")
        inner = self._choice(mode)
        if not self._takes(")"):
            raise BrokenPattern(f"the ( at position {start - 1} has no )")
        return f"{opening}{inner})", is_repeatable

    def _escape(self, mode: _Mode) -> tuple[str, bool]:
        rest = self._pattern[self._at :]
        if rest[:1] in ("b", "B"):
            self._at += 1
            word = _written(self._word(mode))
            is_edge = f"(?:(?<={word})(?!{word})|(?<!{word})(?={word}))"
            return (is_edge if rest[0] == "b" else f"(?!{is_edge})"), False
        if (found := _NUMBER.match(rest)) is not None and int(found[0]) <= self._groups:
            self._at += found.end()
            return _reference(found[0], mode), True
        if rest[:1] == "k" and (self._names or self._is_unicode):
            name, closes, _ = rest[2:].partition(">")
            if rest[1:2] != "<" or not closes or name not in self._names:
                raise BrokenPattern("\\k names no group")
            self._at += len(name) + 3
            return _reference(_name(name), mode), True
        return self._cased(self._escaped(mode), mode), True

    def _escaped(self, mode: _Mode, *, in_class: bool = False) -> _Set:
        """What an escape means, in and outside of a class."""
        char = self._next("a pattern cannot end with a backslash")
        if char in _SETS:
            return self._word(mode) if char == "w" else _Set(_SETS[char])
        if char.lower() in _SETS:
            return _Set(others(self._word(mode).these if char == "W" else _SETS[char.lower()]))
        if char in _CONTROLS:
            return _one(_CONTROLS[char])
        if char in "pP" and self._is_unicode:
            return self._property()
        if char == "c":
            return self._control()
        if char in "xu" and (code := self._hexadecimal()) is not None:
            return _one(code)
        if char.isascii() and char.isdigit():
            return self._digits(char)
        in_set = in_class and (char == "-" or (self._has_sets and char in _SETS_SYNTAX))
        if self._is_unicode and char not in _SYNTAX and not in_set:
            raise BrokenPattern(f"\\{char} means nothing")
        return _one(ord(char))

    def _property(self) -> _Set:
        found = _PROPERTY.match(self._pattern, self._at - 1)
        if found is None or not _KNOWN_PROPERTY.fullmatch(found[1]):
            raise BrokenPattern("\\p names no property")
        self._at = found.end()
        written = f"\\{found[0]}"
        try:
            regex.compile(written)
        except regex.error:
            raise UnsupportedPattern(f"the property {found[1]} is not known here") from None
        return _Set((), written)

    def _control(self) -> _Set:
        letter = self._pattern[self._at : self._at + 1]
        if letter.isascii() and letter.isalpha():
            self._at += 1
            return _one(ord(letter) % 32)
        if self._is_unicode:
            raise BrokenPattern("\\c names no control character")
        self._at -= 1  # the backslash stands for itself
        return _one(ord("\\"))

    def _hexadecimal(self) -> int | None:
        start = self._at - 1
        if self._is_unicode and (found := _LONG_HEX.match(self._pattern, start)) is not None:
            code = int(found[1], 16)
            if code > 0x10FFFF:
                raise BrokenPattern("\\u{…} is beyond the last character")
        elif (found := _HEX.match(self._pattern, start)) is not None:
            code = int(found[1] or found[2], 16)
        elif self._is_unicode:
            raise BrokenPattern(f"\\{self._pattern[start]} needs the number of a character")
        else:
            return None
        self._at = found.end()
        if 0xD800 <= code < 0xDC00 and (low := _LOW_HALF.match(self._pattern, self._at)) is not None:
            self._at = low.end()
            return 0x10000 + ((code - 0xD800) << 10) + int(low[1], 16) - 0xDC00
        return code

    def _digits(self, char: str) -> _Set:
        if char == "0" and not self._pattern[self._at : self._at + 1].isdecimal():
            return _one(0)
        if self._is_unicode:
            raise BrokenPattern(f"\\{char} means no group")
        found = _OCTAL.match(self._pattern, self._at - 1)
        if found is None:
            return _one(ord(char))
        self._at = found.end()
        return _one(int(found[0], 8))

    def _class(self, mode: _Mode) -> str:
        start = self._at - 1
        is_negated = self._takes("^")
        members = _Set()
        while not self._takes("]"):
            if self._at >= len(self._pattern):
                raise BrokenPattern(f"the [ at position {start} has no ]")
            self._check_sets()
            first = self._member(mode)
            self._check_sets()
            ahead = self._pattern[self._at : self._at + 2]
            if ahead[:1] != "-" or ahead[1:] in ("", "]"):
                members |= first
                continue
            self._at += 1
            members |= self._span(first, self._member(mode))
        return self._cased(members, mode, is_negated=is_negated)

    def _check_sets(self) -> None:
        two = self._pattern[self._at : self._at + 2]
        if self._has_sets and (two[:1] == "[" or two in ("--", "&&", "\\q")):
            raise UnsupportedPattern("sets within sets, which the flag v allows, are not known here")

    def _member(self, mode: _Mode) -> _Set:
        char = self._next("a class is not closed")
        if char != "\\":
            return _one(ord(char))
        ahead = self._pattern[self._at : self._at + 1]
        if ahead == "b":
            self._at += 1
            return _one(8)
        if ahead == "c" and not self._is_unicode and (found := re.match(r"c([0-9_])", self._pattern[self._at :])):
            self._at += 2
            return _one(ord(found[1]) % 32)
        return self._escaped(mode, in_class=True)

    def _span(self, first: _Set, last: _Set) -> _Set:
        ends = [code for one in (first, last) for pair in one.these for code in pair]
        if len(ends) != 4 or ends[0] != ends[1] or ends[2] != ends[3] or first.properties or last.properties:
            if self._is_unicode:
                raise BrokenPattern("a range goes from one character to another")
            return first | last | _one(ord("-"))
        if ends[2] < ends[0]:
            raise BrokenPattern("a range goes backwards")
        return _Set([(ends[0], ends[2])])

    def _word(self, mode: _Mode) -> _Set:
        return _Set(in_any_case(WORD, unicode=True) if mode.any_case and self._is_unicode else WORD)

    def _cased(self, these: _Set, mode: _Mode, *, is_negated: bool = False) -> str:
        if not mode.any_case:
            return _written(these, is_negated=is_negated)
        cased = replace(these, these=in_any_case(these.these, unicode=self._is_unicode))
        written = _written(cased, is_negated=is_negated)
        return f"(?i:{written})" if these.properties else written

    def _next(self, lacking: str = "it ends too early") -> str:
        if self._at >= len(self._pattern):
            raise BrokenPattern(lacking)
        self._at += 1
        return self._pattern[self._at - 1]

    def _takes(self, char: str) -> bool:
        is_there = self._pattern.startswith(char, self._at)
        self._at += len(char) * is_there
        return is_there


def _one(code: int) -> _Set:
    return _Set([(code, code)])


def _written(these: _Set, *, is_negated: bool = False) -> str:
    if not these.properties:
        pairs = others(these.these) if is_negated else these.these
        if not pairs:
            return _NEVER
        if len(pairs) == 1 and pairs[0][0] == pairs[0][1]:
            return _character(pairs[0][0])
        return f"[{_pairs(pairs)}]"
    return f"[{'^' * is_negated}{_pairs(these.these)}{these.properties}]"


def _pairs(pairs: Ranges) -> str:
    return "".join(_character(first) + (f"-{_character(last)}" if last > first else "") for first, last in pairs)


def _character(code: int) -> str:
    char = chr(code)
    return char if char.isascii() and char.isalnum() else f"\\U{code:08x}"


def _reference(group: str, mode: _Mode) -> str:
    """A group that took no part is empty to JavaScript."""
    same = f"(?P={group})" if not group.isdigit() else f"\\g<{group}>"
    return f"(?({group}){'(?i:' if mode.any_case else '(?:'}{same})|)"


def _name(name: str) -> str:
    if "\\" in name or not name.replace("$", "_").isidentifier():
        raise BrokenPattern(f"<{name}> is no name for a group")
    if "$" in name:
        raise UnsupportedPattern(f"the name <{name}> of a group is only one in JavaScript")
    return name


def _changed(mode: _Mode, on: str, off: str) -> _Mode:
    changes = on + off
    if not changes or len(set(changes)) < len(changes):
        raise BrokenPattern(f"(?{on}-{off}: changes no flags")

    def now(flag: str, before: bool) -> bool:
        return before if flag not in changes else flag in on

    return _Mode(now("i", mode.any_case), now("m", mode.by_line), now("s", mode.dot_is_all))


def _without_classes(pattern: str) -> str:
    """The pattern without escapes and classes, in which no groups open."""
    return re.sub(r"\\.|\[(?:\\.|[^\]\\])*\]", "", pattern, flags=re.DOTALL)
