"""Answering the question in the reading pane."""

from __future__ import annotations

from inbox_app.commands.base import Command

COMMANDS: tuple[Command, ...] = ()
