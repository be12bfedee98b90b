"""Arguments of the commands: what is read from where, and what is refused before anything starts."""

from __future__ import annotations

import base64
import mimetypes
import re
import stat
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import click


class TextType(click.ParamType[str]):
    """An argument that is kept or sent: what the system could not decode is refused."""

    name = "text"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            value.encode()
        except UnicodeEncodeError:
            self.fail("not UTF-8 text", param, ctx)
        return value


class PathType(click.Path):
    """A path; an empty one, often a shell variable that is not set, would mean the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("the path is empty", param, ctx)
        return super().convert(value, param, ctx)


class WithNegativeNumbers(click.Command):
    """A command with an argument that may be a negative number, which click takes for an option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        with_value = {
            name
            for param in self.params
            if isinstance(param, click.Option) and not param.is_flag
            for name in param.opts
        }
        return super().parse_args(
            ctx,
            [
                f" {word}" if _NEGATIVE.fullmatch(word) and before not in with_value else word  # the same JSON
                for before, word in pairwise(["", *args])
            ],
        )


_NEGATIVE: Final = re.compile(r"-(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
TEXT: Final = TextType()
FOLDER: Final = PathType(path_type=Path)


def named_user(_: click.Context, __: click.Parameter, user: str | None) -> str | None:
    if user is not None and not user.strip():
        raise click.BadParameter("a user has a name")
    return user


def usable_model(_: click.Context, __: click.Parameter, model: str | None) -> str | None:
    """Refuse a model that cannot be used now, not when a subagent is called."""
    if model is not None:
        from runtime_core.agents.models import check_spec
        from runtime_core.agents.turns import ModelUnusable

        try:
            check_spec(model, Path.cwd())
        except ModelUnusable as error:
            raise click.BadParameter(str(error).removeprefix("--model: ")) from error
    return model


def json_text(name: str, given: str) -> str:
    """JSON text, checked and with its digits kept."""
    from runtime_core.wire.json import JsonError, dumps, loads

    try:
        return dumps(loads(_read(name, given)))
    except JsonError as error:
        raise click.UsageError(f"{name} is not JSON: {error}") from error


def text(name: str, given: str) -> str:
    """A text, or that of the file in ``@FILE``, or the standard input for ``-``."""
    content = _read(name, given)
    return content if isinstance(content, str) else _decoded(name, content)


def json_object(name: str, given: str | None) -> str | None:
    """The text of a JSON object, None for none."""
    text = json_text(name, given) if given is not None else None
    if text is not None and not text.startswith("{"):
        raise click.UsageError(f"{name} is no JSON object: write {{…}}")
    return text


def attachments(files: Sequence[Path]) -> str | None:
    """Files as the JSON text of ``ctx.attachments`` (contract 3.2), None for none."""
    from runtime_core.wire.json import dumps

    return dumps([attachment(file) for file in files]) if files else None


def attachment(file: Path) -> dict[str, str]:
    kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    path = file.expanduser()
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe or a device may have no end
            raise click.UsageError(f"--attach: {file} is no file. Save what it holds in one, and attach that")
        content = path.read_bytes()
    except OSError as error:
        raise click.UsageError(f"--attach: {file} cannot be read: {error.strerror}") from error
    return {"filename": file.name, "mimeType": kind, "data": base64.b64encode(content).decode()}


def answer_value(given: str) -> Any:
    """VALUE of an answer: JSON, else text; what begins like an object, list or string has to be JSON.

    A text from a file or the standard input loses one line break at its end.
    """
    from runtime_core.wire.json import JsonError, loads

    read = _read("VALUE", given)
    try:
        return loads(read)
    except JsonError as error:
        text = read if isinstance(read, str) else _decoded("VALUE", read)
        if text.lstrip()[:1] in ("{", "[", '"'):
            raise click.UsageError(
                f"VALUE is not JSON: {error}. To send it as text, quote it as a JSON string"
            ) from error
        return text if isinstance(read, str) else text.removesuffix("\n").removesuffix("\r")


def _decoded(name: str, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise click.UsageError(f"{name} is not UTF-8 text") from None


def _read(name: str, given: str) -> str | bytes:
    """The text of an argument: as given, of a file after ``@``, or of the standard input for ``-``."""
    if given == "-":
        if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison] - None where it was closed
            raise click.UsageError(f"{name}: the standard input is closed")
        return sys.stdin.buffer.read()
    if not given.startswith("@"):
        return given
    try:
        return Path(given[1:]).read_bytes()
    except OSError as error:
        raise click.UsageError(f"{name}: {given[1:]} cannot be read: {error.strerror}") from error
