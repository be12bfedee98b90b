"""Which sections the window has, and how each is made when it is shown for the first time."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Final, cast

from inbox_app.commands.base import ViewName
from inbox_app.section import Section, Surroundings

MADE_BY: Final[dict[ViewName, tuple[str, str]]] = {
    "chat": ("inbox_app.chat.section", "ChatSection"),
    "tools": ("inbox_app.tools_panel.section", "ToolsSection"),
    "evals": ("inbox_app.evals.section", "EvalsSection"),
    "automations": ("inbox_app.automations.section", "AutomationsSection"),
    "repositories": ("inbox_app.repositories.section", "RepositoriesSection"),
}
"""View -> module and class of its section, called with `Surroundings`; imported only then."""


def make(view: ViewName, around: Surroundings) -> Section:
    module, name = MADE_BY[view]
    build = cast("Callable[[Surroundings], Section]", getattr(import_module(module), name))
    return build(around)
