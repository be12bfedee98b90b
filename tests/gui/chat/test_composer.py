"""Where a person writes: what a press means, which files go along with which message, what comes back."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest

from inbox_app.chat import composer as composer_module
from inbox_app.chat import files
from inbox_app.gateway.base import GatewayError
from inbox_app.gateway.chats import ChatEvent, ChatFile, ChatRequest, Ended
from tests.gui.chat.conftest import Chat, Open
from tests.gui.chat.test_conversation import two
from tests.support.fake_chats import FakeChats

LEFT = Qt.MouseButton.LeftButton


class Slow(FakeChats):
    """Nothing is taken or refused before a test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = asyncio.Event()
        self.waiting = 0

    async def send(self, asked: ChatRequest) -> AsyncIterator[ChatEvent]:
        self.waiting += 1
        await self.go_on.wait()
        async for event in super().send(asked):
            yield event


def names(it: Chat) -> list[str]:
    return [file.filename for file in it.composer.files]


def picture() -> QImage:
    image = QImage(4, 4, QImage.Format.Format_RGB32)
    image.fill(Qt.GlobalColor.red)
    return image


def test_a_press_that_began_as_stop_sends_nothing(chat: Open) -> None:
    it = chat()
    it.say("Work")
    it.write("half a thou")
    stop = it.button("Stop")
    QTest.mousePress(stop, LEFT)
    it.chats.tell(Ended("model_stop"))
    it.wait(lambda: it.button("Send").isEnabled())
    QTest.mouseRelease(stop, LEFT)
    assert it.composer.text == "half a thou"
    it.button("Send").click()
    it.wait(lambda: [asked.message for asked in it.chats.asked] == ["Work", "half a thou"])


def test_a_double_click_on_send_sends_and_does_not_stop(chat: Open) -> None:
    it = chat()
    it.write("Go")
    send = it.button("Send")
    QTest.mouseClick(send, LEFT)
    QTest.mouseDClick(send, LEFT)
    QTest.mouseRelease(send, LEFT)
    it.wait(lambda: [asked.message for asked in it.chats.asked] == ["Go"])
    assert it.button("Stop").isEnabled()
    it.chats.tell(Ended("model_stop"))
    it.wait(lambda: it.transcript.logs[-1].end == "model_stop")
    assert it.chats.aborted == []


def test_every_file_that_is_not_taken_is_named_beside_those_that_are(
    chat: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MOST_BYTES", 100)
    it = chat()
    (tmp_path / "large.bin").write_bytes(b"x" * 101)
    (tmp_path / "folder").mkdir()
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_bytes(b"x")
    it.composer.add_paths([str(tmp_path / name) for name in ("large.bin", "a.txt", "folder", "b.txt")])
    it.wait(lambda: names(it) == ["a.txt", "b.txt"])
    large = "large.bin does not fit: the files of a message may have 100 B in all."
    it.wait(lambda: f"{large}\nfolder is not a file." in it.words)
    it.composer.add_paths([str(tmp_path / f"missing-{at}") for at in range(5)])
    it.wait(lambda: any(word.endswith("missing-2 is not a file.\n2 more were not taken.") for word in it.words))
    it.write("x")
    assert not any("not taken" in word for word in it.words)


def test_a_file_that_is_read_slowly_goes_to_the_conversation_that_it_was_attached_to(
    chat: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, real = threading.Event(), files.read_file

    def slow(path: Path, room: int) -> ChatFile:
        assert go_on.wait(60)
        return real(path, room)

    monkeypatch.setattr(composer_module, "read_file", slow)
    (tmp_path / "secret.txt").write_text("s")
    it = chat(two())
    it.open(1)
    it.composer.add_paths([str(tmp_path / "secret.txt")])
    it.open(2)
    it.wait(lambda: it.said == ["Bonjour", "Salut."])
    it.composer._files.append(ChatFile("other.txt", "text/plain", b""))
    go_on.set()
    it.open(1)
    it.wait(lambda: names(it) == ["secret.txt"])
    it.open(2)
    it.wait(lambda: names(it) == ["other.txt"])


def test_what_waits_for_a_new_conversation_stays_while_another_one_is_read(chat: Open, tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("hi")
    it = chat(two())
    it.scene.desk.act("chat.new")
    it.composer.add_paths([str(tmp_path / "note.md")])
    it.wait(lambda: names(it) == ["note.md"])
    it.open(1)
    assert names(it) == []
    it.scene.desk.act("chat.new")
    assert names(it) == ["note.md"]
    it.say("Look")
    assert names(it) == []
    it.scene.desk.act("chat.new")
    assert names(it) == []


def test_words_that_are_refused_after_another_new_conversation_was_begun_come_back(chat: Open) -> None:
    chats = Slow()
    it = chat(chats)
    chats.refuse = GatewayError("VALIDATION_ERROR", "Too much.")
    it.write("Precious words")
    it.enter()
    it.wait(lambda: chats.waiting == 1)
    it.scene.desk.act("chat.new")
    assert it.composer.text == ""
    chats.go_on.set()
    it.wait(lambda: it.composer.text == "Precious words")
    assert "Too much." in it.words
    it.write("x")
    it.scene.desk.act("chat.new")
    assert it.composer.text == "Precious wordsx"


def test_words_that_are_stopped_before_they_were_sent_come_back(chat: Open) -> None:
    chats = Slow()
    it = chat(chats)
    it.write("Precious words")
    it.enter()
    it.wait(lambda: chats.waiting == 1)
    it.scene.desk.act("chat.stop")
    it.wait(lambda: it.composer.text == "Precious words")
    assert "Stopped before it was sent." in it.words
    assert it.transcript.logs == []
    assert chats.asked == []


def test_of_cells_and_of_text_with_a_picture_the_text_is_pasted(chat: Open) -> None:
    it = chat()
    cells = QMimeData()
    cells.setText("1\t2")
    cells.setHtml("<table><tr><td>1</td><td>2</td></tr></table>")
    cells.setImageData(picture())
    it.field.insertFromMimeData(cells)
    assert it.composer.text == "1\t2"
    assert names(it) == []
    copied = QMimeData()
    copied.setHtml('<img src="https://shop.example/kettle.png">')
    copied.setImageData(picture())
    it.field.insertFromMimeData(copied)
    assert names(it) == ["pasted-1.png"]


def test_hidden_characters_of_what_is_written_are_counted(chat: Open) -> None:
    it = chat()
    it.composer.set_text("pay\u200b")
    assert any(word.startswith("1 hidden character, sent as typed.") for word in it.words)
    it.composer.set_text("p\u200bay\u202e")
    assert any(word.startswith("2 hidden characters, sent as typed.") for word in it.words)
    it.composer.set_text("pay")
    assert not any("hidden" in word for word in it.words)
