"""What ``resume`` does, and what ``show`` says about the code of a run and the ways on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from inbox_app.cli_runs import answer_lines, report_outcome
from inbox_app.cli_session import Options, command_line, with_gateway
from inbox_app.cli_text import moment, visible
from inbox_app.gateway.base import GatewayError, RunDetail
from inbox_app.gateway.translate import seconds

if TYPE_CHECKING:
    from inbox_app.gateway.embedded import EmbeddedGateway

SHOWN: Final = 12
"""Characters of a digest that are shown, and that are enough to name it."""

Revision = Mapping[str, Any]


def resume(options: Options, session: str, revision: str | None, *, old_code: bool) -> int:
    async def work(gateway: EmbeddedGateway) -> int:
        chosen = await _chosen(gateway, session, revision, old_code=old_code)
        return await report_outcome(gateway, await gateway.resume(session, chosen), options)

    return with_gateway(options, work)


async def _chosen(gateway: EmbeddedGateway, session: str, revision: str | None, *, old_code: bool) -> str | None:
    """The whole digest of what was asked for, of which the beginning is enough."""
    if not old_code and revision is None:
        return None
    known = _revisions(await gateway.run(session))
    if old_code:
        found = [one["revision"] for one in known if one["old"]]
    else:
        wanted = str(revision)
        found = [one["revision"] for one in known if len(wanted) >= SHOWN and one["revision"].startswith(wanted)]
        found = found or [wanted]
    if not found:
        raise GatewayError("revision_not_stored", f"It is not known which code recorded session {session}.")
    return found[0]


def code_lines(detail: RunDetail, options: Options) -> Iterator[str]:
    """Which code a run ran on, and how it can go on if it stopped for that; nothing where there is nothing to say."""
    known = _revisions(detail)
    run = detail.run
    is_changed = run.raw.get("code_changed") is True
    if not is_changed and run.status not in ("diverged", "needs-attention") and len(known) < 2:
        return
    yield ""
    yield "code"
    for one in known:
        marks = ["stored" if one["stored"] else "not stored"]
        if one["revision"] == run.raw.get("resume_on"):
            marks.append("chosen")
        yield f"  {one['revision'][:SHOWN]}  since {moment(seconds(one['at']))}, leg {one['leg']}, {', '.join(marks)}"
    if is_changed:
        yield "  the repository holds other code by now, or is not there any more"
    if run.status in ("diverged", "needs-attention"):
        yield from _ways_on(detail, known, options)


def _ways_on(detail: RunDetail, known: Sequence[Revision], options: Options) -> Iterator[str]:
    session, data = detail.run.id, ("--data", str(options.data))
    old = next((one for one in known if one["old"] and one["stored"]), None)
    yield "ways on"
    for pause in detail.pauses:
        if pause.cut_off is not None:
            yield f"  what became of {visible(pause.cut_off.name)}:"
            yield from (f"    {line}" for line in answer_lines(pause, options, is_named=len(detail.pauses) > 1))
    is_stuck = any(pause.kind == "attention" and pause.cut_off is None for pause in detail.pauses)
    if old is not None and (detail.run.status == "diverged" or is_stuck):
        command = command_line("resume", session, "--old-code", *data)
        yield f"  with the code {old['revision'][:SHOWN]}: {visible(command)}"
    if detail.run.status == "diverged":
        yield f"  with the present code, once it is put right: {visible(command_line('resume', session, *data))}"
    yield f"  not at all: {visible(command_line('cancel', session, *data))}"


def _revisions(detail: RunDetail) -> Sequence[Revision]:
    found = detail.run.raw.get("revisions")
    return cast("list[Revision]", found) if isinstance(found, list) else []
