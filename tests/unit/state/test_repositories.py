"""The repositories that were opened in the window are known at its next start."""

from __future__ import annotations

from pathlib import Path

import pytest

from inbox_app.state.memory import Memory
from inbox_app.state.repositories import forget, opened, remember


def test_what_was_opened_is_opened_again_until_it_is_removed(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "desk.db")
    for path in ("/b", "/a", "/b"):
        remember(memory, path)
    memory.close()
    again = Memory(tmp_path / "desk.db")
    assert list(opened(again)) == ["/b", "/a"]
    forget(again, "/b")
    assert list(opened(again)) == ["/a"]
    forget(again, "/a")
    assert list(opened(again)) == []
    again.close()


@pytest.mark.parametrize("text", ["", "no JSON", "{}", "[1, null]"])
def test_what_cannot_be_read_is_nothing(text: str) -> None:
    memory = Memory(None)
    memory.keep("repositories", text)
    assert list(opened(memory)) == []
