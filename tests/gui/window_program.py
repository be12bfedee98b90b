"""A program that shows the window on made-up questions: ``python -m tests.gui.window_program [PICTURE]``."""

from __future__ import annotations

import sys
from pathlib import Path

from inbox_app.app import run_window
from inbox_app.gateway.base import Gateway
from tests.support.builders import pause
from tests.support.fake_gateway import FakeGateway


class Loud(FakeGateway):
    """Says on stdout when it is opened and closed."""

    async def open(self) -> None:
        await super().open()
        print("opened", flush=True)  # noqa: T201

    async def close(self) -> None:
        await super().close()
        print("closed", flush=True)  # noqa: T201


def gateway() -> Gateway:
    return Loud([pause(number) for number in range(1, 4)])


if __name__ == "__main__":
    picture = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    sys.exit(run_window(gateway, grab=picture))
