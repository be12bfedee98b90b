"""The desktop application: the window and the command line over a runtime."""

import sys
from types import TracebackType


def _on_uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Ctrl+C while the program is still being loaded needs no traceback."""
    if issubclass(kind, KeyboardInterrupt):
        sys.stderr.write("operator-inbox: interrupted\n")
    else:
        sys.__excepthook__(kind, error, trace)


if sys.excepthook is sys.__excepthook__:
    sys.excepthook = _on_uncaught
