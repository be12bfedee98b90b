"""What the platform may say, in whichever of the usual shapes."""

from __future__ import annotations

from typing import Any

import pytest

from runtime_core.deploys.answers import LINE_LIMIT, Events, Onward, Told, complaint, read_line, read_whole, state_of
from runtime_core.wire.builds import Line


def shown(pieces: Any) -> list[str]:
    """Lines as their text, with level and stage; states in angle brackets, unsure ones with a question mark."""
    told: list[str] = []
    for piece in pieces:
        if isinstance(piece, Line):
            told.append("|".join(part for part in (piece.stage, piece.level, piece.text) if part not in ("", "info")))
        elif isinstance(piece, Told):
            told.append(f"<{piece.state}{'' if piece.is_certain else '?'}>")
        else:
            told.append(f"{piece.name}={piece.value}")
    return told


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        ("one\ntwo\n", ["one", "two"]),
        (["one", "two\nthree"], ["one", "two", "three"]),
        ([], []),
        (None, []),
        (7, []),
        ({"logs": "one\ntwo"}, ["one", "two"]),
        ({"lines": ["one"], "status": "in-progress"}, ["one", "<running>"]),
        ({"data": {"entries": [{"msg": "one", "severity": "WARN", "step": "install"}]}}, ["install|warning|one"]),
        ({"build": {"status": "READY", "logs": ["one"]}}, ["one", "<succeeded>"]),
        ({"logs": [], "state": "ERROR"}, ["<failed>"]),
        ({"status": "ok-ish", "logs": ["one"]}, ["one"]),
        ({"logs": ["one"], "next_cursor": "c2"}, ["one", "cursor=c2"]),
        ({"logs": ["one"], "nextOffset": 7}, ["one", "offset=7"]),
        ({"logs": ["one"], "pagination": {"nextPage": 2}}, ["one", "page=2"]),
        ({"logs": ["one"], "nextCursor": None}, ["one"]),
        ([{"text": "one", "type": "stdout"}, {"text": "two", "type": "stderr"}], ["one", "two"]),
        ([{"type": "state", "payload": {"text": "in it"}}], ["in it"]),
        ([{"status": "failed"}], ["<failed>"]),
        ({"events": [{"created": 1, "payload": {"text": "a"}}]}, ["a"]),
    ],
)
def test_whole_answers(answer: Any, wanted: list[str]) -> None:
    assert shown(read_whole(answer)) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("plain", ["plain"]),
        ("", [""]),
        ('{"message": "one", "level": "error"}', ["error|one"]),
        ('{"status": "cancelled"}', ["<cancelled>"]),
        ('{"a": 1}', ['{"a": 1}']),
        ("{not json}", ["{not json}"]),
        ("\x1b[31merror\x1b[0m \x1b]0;title\x07here", ["error here"]),
        ("10%\r50%\r100%", ["100%"]),
        ("windows\r", ["windows"]),
        ("Build succeeded in 4 s", ["Build succeeded in 4 s", "<succeeded?>"]),
        ("✔ Deployment complete!", ["✔ Deployment complete!", "<succeeded?>"]),
        ("[12:01] Build failed: exit code 1", ["[12:01] Build failed: exit code 1", "<failed?>"]),
        ("The build was successfully finished", ["The build was successfully finished", "<succeeded?>"]),
        ("Build step: tests failed before", ["Build step: tests failed before"]),
        ("rebuild completed", ["rebuild completed"]),
    ],
)
def test_lines(text: str, wanted: list[str]) -> None:
    assert shown(read_line(text)) == wanted


def test_events() -> None:
    events = Events()
    stream = (
        ": a comment\nretry: 10\n\ndata: one\ndata: two\n\nevent: ping\ndata: x\n\nevent: log\ndata: "
        '{"message":"three","level":"warn"}\nid: 4\n\nevent: state\ndata: "building"\n\nevent: complete\ndata: {}\n\n'
    )
    told = shown(piece for line in stream.split("\n") for piece in events.take(line))
    assert told == ["one", "two", "warning|three", "<running>", "{}", "<succeeded>"]


def test_the_end_of_a_stream_that_does_not_say_more() -> None:
    events = Events()
    assert shown(piece for line in ("event: end", "data: bye", "") for piece in events.take(line)) == [
        "bye",
        "<unknown>",
    ]


def test_times_in_the_usual_forms() -> None:
    moments = ["2023-11-14T22:13:20Z", 1_700_000_000, 1_700_000_000_000, "yesterday", -5, True]
    told = [
        piece.at for one in moments for piece in read_whole([{"text": "x", "time": one}]) if isinstance(piece, Line)
    ]
    assert told == [1_700_000_000, 1_700_000_000, 1_700_000_000, None, None, None]


def test_long_lines_are_cut() -> None:
    line = next(iter(read_line("x" * (LINE_LIMIT + 5))))
    assert isinstance(line, Line)
    assert len(line.text) == LINE_LIMIT


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"error": {"message": "no\nway"}}, "no way"),
        ({"error": "no"}, "no"),
        ({"message": "no"}, "no"),
        ({"title": "no"}, "no"),
        ({"error": {"code": "E1"}}, "E1"),
        ("plain text", "plain text"),
        ([], ""),
        ({}, ""),
    ],
)
def test_complaints(answer: Any, said: str) -> None:
    assert complaint(answer) == said


def test_states() -> None:
    assert state_of({"status": "Timed Out"}) == "failed"
    assert state_of({"deployment": {"state": "LIVE"}}) == "succeeded"
    assert state_of({"status": 3}) is None
    assert state_of("live") is None
    assert Onward("cursor", "1") != Onward("offset", "1")
