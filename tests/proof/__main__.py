"""``python -m tests.proof NAME [--long | --rounds N] [--seed S]``; each module has a ``main(argv)``."""

from __future__ import annotations

import importlib
import sys
from typing import Final

PROOFS: Final = {
    "power": "power is lost at every write: the journal keeps what it acknowledged",
    "races": "many answer one question at the same moment: one wins",
    "model": "the protocol of claims and answers, explored without end",
    "mutants": "one safeguard is taken away at a time: a test notices",
    "disk": "the disk fills up, or is read-only: work waits and goes on",
    "soak": "a process is killed again and again: nothing is lost or repeated",
    "machine": "any order of events agrees with a dictionary",
    "programs": "generated handlers, interrupted after every append",
    "edits": "the tool of a parked run is edited: refused, or harmless",
}


def main(argv: list[str]) -> None:
    if not argv or argv[0] not in PROOFS:
        width = max(map(len, PROOFS))
        print("usage: python -m tests.proof NAME [--long | --rounds N] [--seed S]\n")
        print("\n".join(f"  {name:{width}}  {what}" for name, what in PROOFS.items()))
        sys.exit(2 if argv and argv[0] not in ("-h", "--help") else 0)
    importlib.import_module(f"tests.proof.{argv[0]}").main(argv[1:])


if __name__ == "__main__":
    main(sys.argv[1:])
