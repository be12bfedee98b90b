"""The bundled sample agents with questions waiting: in a window, or as a picture and in words without a display."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from inbox_app.cli_session import DONE, command_line, has_display, log_to, say, say_json, settings, settings_warnings
from inbox_app.desktop.paths import samples_folder
from inbox_app.gateway.base import Gateway, GatewayError, Pause, PausePage, Start
from inbox_app.gateway.embedded import EmbeddedGateway
from inbox_app.state.memory import Memory
from inbox_app.state.repositories import opened

if TYPE_CHECKING:
    from runtime_core.wire.settings import Settings

PICTURE: Final = "demo.png"


class DemoGateway(EmbeddedGateway):
    """The embedded runtime of the demo's data folder; opening it makes sure that every sample run exists once.

    ``keeps_schedules`` as `EmbeddedGateway`. Samples without such a run are read when something of them is wanted.
    """

    def __init__(self, data: Path, chosen: Settings, *, fresh: bool = False, keeps_schedules: bool = False) -> None:
        from inbox_app.desktop.secrets import Keychain

        samples = samples_folder()
        self._starts = [_start(item, samples) for item in _manifest(samples / "demo.json")]
        repositories = sorted({Path(start.repository) for start in self._starts if start.repository is not None})
        self._others = sorted({file.parent for file in samples.glob("*/amodal.json")} - {*repositories})
        super().__init__(
            data,
            repositories=repositories,
            remembered=[Path(path) for path in opened(Memory(data / "desk.db"))],
            settings=chosen,
            secrets=Keychain(),
            keeps_schedules=keeps_schedules,
        )
        self._fresh = fresh

    async def open(self) -> None:
        await super().open()
        try:
            await self.recovered()
            known = set[str]() if self._fresh else await self._known_tools()
            for start in self._starts:
                if start.tool not in known:
                    await self.start(start)
            await self._call(self._list_others())
        except BaseException:
            await self.close()
            raise
        self._fresh = False

    async def _list_others(self) -> None:
        for root in self._others:
            self._open_runtime.catalog.add(root)

    async def _known_tools(self) -> set[str]:
        """Tools that have a run, waiting or ended: a demo that was broken off asks only what is missing."""
        tools: set[str] = set()
        for finished in (False, True):
            cursor: str | None = None
            while True:
                page = await self.runs(finished=finished, cursor=cursor)
                tools.update(run.tool for run in page.items)
                cursor = page.next_cursor
                if cursor is None:
                    break
        return tools


def demo(data: Path, *, fresh: bool, as_json: bool) -> int:
    log_to(data)
    if has_display():
        return _window(data, fresh=fresh)
    return _picture(data, fresh=fresh, as_json=as_json)


def _window(data: Path, *, fresh: bool) -> int:
    from inbox_app.app import run_window

    def gateway() -> Gateway:
        return DemoGateway(data, settings(), fresh=fresh, keeps_schedules=True)

    return run_window(gateway, desk_file=data / "desk.db", settings_warnings=settings_warnings)


def _picture(data: Path, *, fresh: bool, as_json: bool) -> int:
    """Render the window to a file, then print what waits and how to answer it."""
    target = Path.cwd() / PICTURE
    _check_writable(target)
    if not as_json:
        say([f"There is no display: the window is drawn to {target} instead."])
    chosen = settings(as_json=as_json)
    page = asyncio.run(_prepare(data, chosen, fresh=fresh))
    _draw(data, chosen, target)
    if as_json:
        approvals = [pause.raw for pause in page.items]
        say_json({"picture": str(target), "approvals": approvals, "total": page.total, "next_cursor": page.next_cursor})
    else:
        say(_waiting_lines(page, data))
    return DONE


async def _prepare(data: Path, chosen: Settings, *, fresh: bool) -> PausePage:
    gateway = DemoGateway(data, chosen, fresh=fresh)
    await gateway.open()
    try:
        return await gateway.pending()
    finally:
        await gateway.close()


def _draw(data: Path, chosen: Settings, target: Path) -> None:
    def gateway() -> Gateway:
        return EmbeddedGateway(data, settings=chosen)

    try:
        from inbox_app.app import run_window
    except ImportError as error:
        raise GatewayError(
            "INTERNAL_ERROR",
            f"The window cannot be drawn: Qt lacks a part of the system ({error}). "
            "python3 packaging/up.py names the packages to install.",
        ) from error
    if run_window(gateway, grab=target) != DONE:
        raise GatewayError("INTERNAL_ERROR", f"The window could not be drawn to {target}.")


def _check_writable(target: Path) -> None:
    """Refuse before anything starts; an existing picture is replaced."""
    try:
        with target.open("ab"):
            pass
    except OSError as error:
        raise GatewayError(
            "VALIDATION_ERROR",
            f"{target} cannot be written ({error.strerror}). Change to a folder where you may write and start again.",
        ) from error


def _waiting_lines(page: PausePage, data: Path) -> Iterator[str]:
    from inbox_app.cli_text import waiting_table

    if not page.items:
        yield "Nothing is waiting: every question of the demo was answered. Ask again with: " + command_line(
            "demo", "--fresh", "--data", str(data)
        )
        return
    yield f"{page.total} waiting"
    yield ""
    yield waiting_table(page.items, time.time())
    yield ""
    yield "Answer them here:"
    for pause in page.items:
        yield f"  {command_line('answer', pause.run_id, example(pause), '--data', str(data))}"


def example(pause: Pause) -> str:
    """A VALUE that suits the question, as it is typed: the recommended or first choice, yes, or a short text."""
    from inbox_app.cli_text import argument

    if pause.options:
        chosen = next((option for option in pause.options if option.recommended), pause.options[0])
        return argument(chosen.value)
    if pause.input_type == "yesno" or pause.kind == "approval":
        return "yes"
    return "Checked with the customer."


def _manifest(path: Path) -> list[dict[str, Any]]:
    from runtime_core.wire.json import loads

    try:
        return cast("list[dict[str, Any]]", loads(path.read_bytes()))
    except (OSError, ValueError) as error:
        raise GatewayError("CONFIG_NOT_FOUND", f"The sample agents cannot be read: {path}: {error}") from error


def _start(item: dict[str, Any], samples: Path) -> Start:
    from runtime_core.wire.json import dumps

    return Start(tool=item["tool"], input=dumps(item["input"]), repository=str(samples / item["repository"]))
