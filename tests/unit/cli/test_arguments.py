"""Values as they are typed: what is a number, what is text, what is an option, and what is read from a file."""

from __future__ import annotations

import os
from pathlib import Path

import click
import pytest

from inbox_app.cli_arguments import TEXT, WithNegativeNumbers, answer_value, attachment
from runtime_core.wire.json import dumps


@click.command(cls=WithNegativeNumbers)
@click.argument("session", type=TEXT)
@click.argument("value", type=TEXT)
@click.option("--note", type=TEXT, default="")
@click.option("--flag", is_flag=True)
def take(session: str, value: str, note: str, flag: bool) -> str:
    return f"{session} {dumps(answer_value(value))} {note} {flag}"


def taken(*words: str) -> str:
    return take.main(list(words), standalone_mode=False)


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["s", "yes"], 's "yes"  False'),
        (["s", "true"], "s true  False"),
        (["s", ""], 's ""  False'),
        (["s", "-1"], "s -1  False"),
        (["s", "-0"], "s -0  False"),
        (["s", "-0.0"], "s -0.0  False"),
        (["s", "-1.5e3"], "s -1.5e3  False"),
        (["s", "--flag", "-12345678901234567890"], "s -12345678901234567890  True"),
        (["s", "--note", "-2", "-1"], "s -1 -2 False"),
        (["--note", "-2", "--", "s", "-1"], "s -1 -2 False"),
        (["s", "--", "-x"], 's "-x"  False'),
        (["s", '"@a"'], 's "@a"  False'),
    ],
)
def test_values(words: list[str], shown: str) -> None:
    assert taken(*words) == shown


@pytest.mark.parametrize("word", ["-x", "--1", "-1x", "-01", "-.5", "--yes"])
def test_other_words_with_a_dash_are_options(word: str) -> None:
    with pytest.raises(click.NoSuchOption):
        taken("s", word)


@pytest.mark.parametrize(
    ("content", "value"),
    [
        (b"-1.50\n", "-1.50"),
        (b'{"a": 1}\n', '{"a":1}'),
        (b"two words\n", '"two words"'),
        (b"a line\r\nand one\r\n", '"a line\\r\\nand one"'),
        (b"\xef\xbb\xbfmarked", '"marked"'),
        (b"", '""'),
    ],
)
def test_values_from_a_file(tmp_path: Path, content: bytes, value: str) -> None:
    file = tmp_path / "value"
    file.write_bytes(content)
    assert dumps(answer_value(f"@{file}")) == value


@pytest.mark.parametrize("content", [b"caf\xe9", b'{"a": 1', b'"open'])
def test_files_that_hold_no_value(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "value"
    file.write_bytes(content)
    with pytest.raises(click.UsageError, match="VALUE is not"):
        answer_value(f"@{file}")


@pytest.mark.skipif(os.name == "nt", reason="there are no such files")
def test_what_may_have_no_end_is_not_attached(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for file in (pipe, Path("/dev/zero"), tmp_path):
        with pytest.raises(click.UsageError, match="is no file"):
            attachment(file)
