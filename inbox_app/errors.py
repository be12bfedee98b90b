"""Errors of the program itself, as a person reads them.

GatewayError (gateway.base)   what a runtime refused or could not do
BadPairError (early)          Python and PySide6 do not fit
NestedLoopError               a bug: something opened a Qt event loop inside a task
"""

from __future__ import annotations


class NestedLoopError(RuntimeError):
    """A Qt event loop was started inside a task; tasks due meanwhile would be lost."""


def sentence(error: BaseException) -> str:
    """What to show for any error: its own words, or at least its kind."""
    text = str(error).strip()
    return text or type(error).__name__
