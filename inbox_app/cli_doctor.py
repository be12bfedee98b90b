"""``doctor``: what is wrong with a data folder and with the settings, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from inbox_app.cli_session import DONE, REFUSED, Options, say, say_json
from inbox_app.cli_text import visible
from inbox_app.desktop.paths import config_file
from inbox_app.gateway.base import GatewayError
from runtime_core.config import load
from runtime_core.doctor.compact import compact as compacted
from runtime_core.doctor.examine import examine
from runtime_core.doctor.findings import Finding, in_megabytes
from runtime_core.wire.codes import RuntimeFault


def doctor(options: Options, *, compact: bool) -> int:
    file, is_named = config_file()
    config = load(file, must_exist=is_named)
    sizes = None
    if compact:
        try:
            sizes = compacted(options.data, config.settings.retention)
        except RuntimeFault as fault:
            raise GatewayError(fault.code, fault.message, fault.details) from fault
    found = examine(options.data, config)
    healthy = all(finding.level != "problem" for finding in found)
    if options.as_json:
        findings = [finding.to_wire() for finding in found]
        compacting = {"bytes_before": sizes[0], "bytes_after": sizes[1]} if sizes is not None else None
        say_json({"data": str(options.data), "healthy": healthy, "findings": findings, "compacted": compacting})
    else:
        say(_lines(found))
        if sizes is not None:
            say([f"compacted: {in_megabytes(sizes[0])} before, {in_megabytes(sizes[1])} now"])
    return DONE if healthy else REFUSED


def _lines(found: Sequence[Finding]) -> Iterator[str]:
    for finding in found:
        yield f"{finding.level}: {visible(f'{finding.message} {finding.remedy}'.strip())}"
    problems, warnings = (sum(finding.level == level for finding in found) for level in ("problem", "warning"))
    if problems or warnings:
        yield f"{_count(problems, 'problem')}, {_count(warnings, 'warning')}"
    else:
        yield "everything is in order"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
