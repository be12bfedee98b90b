"""The same leg once more (`Settings.replay_twice`): a dry replay of what it has just journaled, compared with it."""

from __future__ import annotations

import logging
from typing import Any, Final

from runtime_core.engine.divergence import find, short
from runtime_core.engine.frames import Origin, Place
from runtime_core.engine.ledger import Ledger
from runtime_core.engine.parking import Waits
from runtime_core.engine.rehearsal import Rehearsal, Script
from runtime_core.engine.repeats import Stand, deviation
from runtime_core.journal.base import Claim, Journal
from runtime_core.wire.json import JsonText, dumps, loads

log = logging.getLogger(__name__)

ENCORE_S: Final = 10.0
_CAUSES: Final = (
    " The leg was replayed at once, to see whether the handler repeats itself. What keeps it from that is mostly the "
    "time, a random number, or state kept in a module: use ctx.now, ctx.random or ctx.step."
)


class Encore:
    """Plays the legs of one claimed run again, in the processes in which they ran; ``origin`` is dry and strict."""

    def __init__(self, claim: Claim, journal: Journal, ledger: Ledger, origin: Origin, root: Place) -> None:
        self._claim = claim
        self._journal = journal
        self._ledger = ledger
        self._origin = origin
        self._root = root

    async def error(self, stand: Stand, waits: Waits) -> JsonText | None:
        """Why the run has to stop: the leg, which came to ``stand``, took another way this time."""
        if not stand.is_repeatable:
            return None
        run, revision = self._claim.run, self._claim.revision
        await self._ledger.flush()
        started = [*self._ledger.started_entries, *waits.entries.values()]
        script = Script(run, list(self._ledger.finished_entries.values()), started, waits.pauses)
        ending = await Rehearsal(script, self._origin, self._root).play(ENCORE_S)
        if ending.kind == "unknown":
            log.warning("%s: whether the leg repeats itself cannot be told: %s", run.id, ending.value)
            return None
        if ending.met is not None:
            met = ending.met
            found = await find(self._journal, run, revision, met.names, met.path, met.divergence)
            error: dict[str, Any] = {**_object(found.to_json()), "code": "replay-diverged"}
        else:
            problem = deviation(stand, ending)
            if problem is None:
                return None
            what = f'tool "{self._root.tool.name}" {problem}. The code is the same ({short(revision)}).'
            error = {"name": "Error", "code": "replay-diverged", "message": f"Session {run.id}: {what}"}
        return dumps({**error, "message": error["message"] + _CAUSES})


def _object(text: JsonText) -> dict[str, Any]:
    value: Any = loads(text)
    return value
