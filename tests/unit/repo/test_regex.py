"""JavaScript's regular expressions, compared with JavaScript itself (contract 2.5)."""

from __future__ import annotations

import json
import random
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from runtime_core.hosts.deno import find_deno
from runtime_core.repo.regex import BrokenPattern, UnsupportedPattern, compile_javascript, compile_schema_pattern

Case = tuple[str, str, str]
"""Pattern, flags, text."""

ORACLE = """
const cases = JSON.parse(new TextDecoder().decode(await new Response(Deno.stdin.readable).arrayBuffer()));
console.log(JSON.stringify(cases.map(([pattern, flags, text]) => {
  let found;
  try { found = new RegExp(pattern, flags).exec(text); } catch { return 'broken'; }
  if (!found) return null;
  const groups = Object.fromEntries(Object.entries(found.groups ?? {}).filter(([, value]) => value !== undefined));
  return [[...text.slice(0, found.index)].length, found[0], groups];
})));
"""

PATTERNS = [
    (r"^(?:release|deploy)\s+(?<id>[\w-]+)\s*$", "i"),
    (r"^\d{3,5}?$|^x{2,}$|a{,3}|{b}|[a]{2}", ""),
    (r"(?<year>\d{4})-(?<month>\d\d)|(?<word>\w+)", ""),
    (r"^$", ""),
    (r"^b$", "m"),
    (r"a.b|a$", ""),
    (r"a.b", "s"),
    (r"[^]", ""),
    (r"a[]|b", ""),
    (r"[^a]b", ""),
    (r"\bpro\B|\Bx\b", ""),
    (r"\s+|\S+$", ""),
    (r"^[\s\d-x]+$", ""),
    (r"^[^\W_]+$", ""),
    (r"(a)|(b)\1\2", ""),
    (r"(?<q>['\"]).*?\k<q>", ""),
    (r"(A)\1", "i"),
    (r"\k<q>", ""),
    (r"\p{L}+", "u"),
    (r"^\p{L}{2}$", ""),
    (r"[\p{Lu}\d]+", "u"),
    (r"[^\p{Lu}\s]+", "u"),
    (r"\P{L}+", "u"),
    (r"\p{Script=Greek}+|\p{sc=Cyrillic}", "u"),
    (r"\p{lu}|\p{Nothing}", "u"),
    (r"^\u{1F600}.$", "u"),
    (r"u{2}\u00e9|\xe9|\ud83d\ude00", ""),
    (r"\cJ|[\cJ]|\c1|\0|\07|\101|\9", ""),
    (r"\c1", "u"),
    (r"\-|\_", ""),
    (r"\_", "u"),
    (r"(?<=\$)\d+(?!\d|\.)|(?<!\w)b", ""),
    (r"(?=a)*b|(?!b)+a", ""),
    (r"(?=a)*b", "u"),
    (r"straße|ÉCOLE|ſ|k", "i"),
    (r"straße|ÉCOLE|ſ|k", "iu"),
    (r"[^é-ÿ]", "i"),
    (r"\w+", "iu"),
    (r"(?i:a)B(?-i:c)", ""),
    (r"(?i-m:^a$)", "m"),
    (r"(?:)", ""),
    (r"|a", ""),
    (r"a||b", ""),
    (r"[\b]|[.*+?^$|(){}\\/]", ""),
    (r"\/\.\*", "u"),
    (r"[a-z&&b]|~~", ""),
    (r"a++", ""),
    (r"a{2}{3}", ""),
    (r"^*", ""),
    (r"(", ""),
    (r")", ""),
    (r"[", ""),
    (r"[b-a]", ""),
    (r"[\d-a]", "u"),
    (r"a{2,1}", ""),
    (r"{", "u"),
    (r"]", "u"),
    ("\\", ""),
    (r"(?P<a>x)", ""),
    (r"(?<1>x)", ""),
    (r"(?#x)", ""),
    (r"\1(a)", "u"),
    (r"\2(a)", "u"),
    (r"a", "uv"),
    (r"a", "gg"),
    (r"a", "x"),
    (r"a", "dg"),
    (r"late|b|a\nb|\d+", "y"),
    (r"^b$|a|(?<sign>\$)\d", "my"),
    (r"[a-z\-\&]+", "v"),
    (r"[\&]", "u"),
    (r"^\u{1F600}.$|[^a]{3}", "u"),
]
TEXTS = [
    "",
    "Deploy app_1-2  ",
    "1234",
    "xxx {b} aa",
    "2026-12 late",
    "a\nb",
    "a\n",
    "x\u2028b\r\nb\n",
    "a\u2028b a\x85b",
    "pro x",
    "\ufeff\u3000 \x1f-9",
    "ab bb aa",
    "it's \"so\" 'big'",
    "Größe ÉCOLE école ΑΒΓ ж",
    "STRASSE STRAßE \u017f \u212a K",
    "uuéé 1\x001 A\n\x07 $42 $4.2 k<q>",
    "aBc ABC ABc",
    "p{L}p{L} \b . / -_ \\c1",
    "ÿ Ÿ µ Μ İ ı i",
    "٣٤ ５",
]


def as_javascript_finds(cases: Sequence[Case], folder: Path) -> list[Any]:
    """Where, what and with which groups; None for nothing, "broken" for a pattern that is none."""
    script = folder / "oracle.js"
    script.write_text(ORACLE)
    told = subprocess.run(
        [find_deno(), "run", "--no-config", "--no-lock", "--no-remote", "--quiet", str(script)],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={"DENO_DIR": str(folder / "deno"), "NO_COLOR": "1"},
    )
    return json.loads(told.stdout)


def as_we_find(pattern: str, flags: str, text: str) -> Any:
    try:
        found = compile_javascript(pattern, flags).search(text, timeout=5)
    except BrokenPattern:
        return "broken"
    if found is None:
        return None
    return [found.start(), found[0], {name: value for name, value in found.groupdict().items() if value is not None}]


def compare(cases: Sequence[Case], folder: Path) -> None:
    differing = [
        (case, theirs, ours)
        for case, theirs in zip(cases, as_javascript_finds(cases, folder), strict=True)
        if (ours := as_we_find(*case)) != theirs
    ]
    assert differing == []


def test_patterns_find_what_they_find_in_javascript(tmp_path: Path) -> None:
    emoji = [(pattern, flags, "😀😀") for pattern, flags in PATTERNS if {"u", "v"} & {*flags}]
    compare([*((pattern, flags, text) for pattern, flags in PATTERNS for text in TEXTS), *emoji], tmp_path)


LETTERS = "aBkſß é\u2028\n_9-"
ATOMS = (
    r".",
    r"\d",
    r"\W",
    r"\w",
    r"\s",
    r"\S",
    r"\b",
    r"\B",
    r"[^a-f]",
    r"[\w-]",
    r"[\D9]",
    r"(?!a)",
    r"(?<=k)",
    "^",
    "$",
)
TIMES = ("", "", "", "*", "+?", "?", "{2}", "{1,}", "{0,2}?")


def any_pattern(chance: random.Random, depth: int = 0) -> Iterator[str]:
    for _ in range(chance.randint(0, 4)):
        kind = chance.random()
        if kind < 0.45:
            yield re.escape(chance.choice(LETTERS)).replace("\\ ", " ") + chance.choice(TIMES)
        elif kind < 0.8:
            yield chance.choice(ATOMS) + chance.choice(TIMES)
        elif kind < 0.85:
            yield "|"
        elif depth < 3:
            opening = chance.choice(("(?:", f"(?<n{depth}{chance.randint(0, 10**6)}>", "(?=", "(?<!", "(?i:"))
            times = chance.choice(TIMES) if opening == "(?:" and depth == 2 else ""
            yield f"{opening}{''.join(any_pattern(chance, depth + 1))}){times}"


def test_any_patterns_find_what_they_find_in_javascript(tmp_path: Path) -> None:
    chance = random.Random(5)
    cases = [
        (
            "".join(any_pattern(chance)),
            "".join(flag for flag in "imsu" if chance.random() < 0.4),
            "".join(chance.choices(LETTERS + "bAK", k=chance.randint(0, 12))),
        )
        for _ in range(3000)
    ]
    compare(cases, tmp_path)


@pytest.mark.parametrize(
    ("pattern", "flags", "words"),
    [
        (r"[a--b]", "v", "sets within sets"),
        (r"(?<a$>x)", "", "<a$>"),
        ("a" * 10_001, "", "10,000 characters"),
        ("(" * 5000 + ")" * 5000, "", "too deep"),
    ],
)
def test_what_only_javascript_understands_is_told(pattern: str, flags: str, words: str) -> None:
    with pytest.raises(UnsupportedPattern, match=re.escape(words)):
        compile_javascript(pattern, flags)


def test_a_pattern_that_takes_for_ever_ends_in_time() -> None:
    with pytest.raises(TimeoutError):
        compile_javascript("^(a|aa)+$").search("a" * 5000 + "b", timeout=0.05)


def test_a_pattern_of_a_schema_knows_properties_and_what_is_none_with_them() -> None:
    assert compile_schema_pattern(r"^\p{L}+$").search("Größe") is not None
    assert compile_schema_pattern(r"^[\w-]+\_$").search("a-b_") is not None
    with pytest.raises(BrokenPattern):
        compile_schema_pattern("(")
