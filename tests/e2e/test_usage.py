"""Wrong usage is exit code 2 and one line that says what is wrong; nothing is started."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.e2e.driver import FIXTURES, LIMIT_S, Desk, Ended, until

WRONG = {
    "no value": (["answer", "dur_x"], "VALUE"),
    "unknown option": (["answer", "dur_x", "yes", "--yes"], "--yes"),
    "a value that looks like an option": (["answer", "dur_x", "--yes"], "--yes"),
    "unknown command": (["aprove"], "aprove"),
    "broken value": (["answer", "dur_x", '{"a": 1,\n "a" 2}'], "line 2, column 6"),
    "broken characters": (["answer", "dur_x", "caf\udce9"], "'VALUE': not UTF-8 text"),
    "broken characters in the input": (
        ["run", str(FIXTURES / "desk"), "echo", "--input", '{"a": "\udcff"}'],
        "'--input': not UTF-8 text",
    ),
    "broken characters in the note": (["answer", "dur_x", "yes", "--note", "\udcff"], "'--note': not UTF-8 text"),
    "broken characters in the edits": (["answer", "dur_x", "yes", "--edits", '"\udcff"'], "'--edits': not UTF-8 text"),
    "broken characters in a file": (["answer", "dur_x", "@broken.txt"], "VALUE is not UTF-8 text"),
    "no such file for the value": (["answer", "dur_x", "@nowhere.txt"], "VALUE: nowhere.txt"),
    "a short option that does not exist": (["answer", "dur_x", "-x"], "-x"),
    "a number among the options": (["answer", "dur_x", "yes", "-1"], "extra argument"),
    "a control character": (["answer", "dur_x", "@\x1b[31m\n.txt"], "VALUE: <U+001B>[31m .txt"),
    "an unknown model": (["answer", "dur_x", "yes", "--model", "foo"], "'--model': 'foo' names no model"),
    "a model without its file": (["run", str(FIXTURES / "desk"), "echo", "--model", "scripted:no.json"], "no.json"),
    "doubled key": (["answer", "dur_x", '{"a": 1, "a": 2}'], "twice"),
    "broken edits": (["answer", "dur_x", "yes", "--edits", "[1, 2"], "line 1, column"),
    "broken input": (["run", str(FIXTURES / "desk"), "echo", "--input", '{"a":\n  nope}'], "line 2, column 3"),
    "not a number": (["run", str(FIXTURES / "desk"), "echo", "--input", '{"a": NaN}'], "NaN is not a JSON number"),
    "a list as context": (["run", str(FIXTURES / "desk"), "echo", "--context", "[]"], "--context is no JSON object"),
    "a filter that is no JSON": (["store", str(FIXTURES / "desk"), "x", "--where", "{bad"], "--where is not JSON"),
    "missing input file": (["run", str(FIXTURES / "desk"), "echo", "--input", "@nowhere.json"], "nowhere.json"),
    "limit of nothing": (["list", "--limit", "0"], "--limit"),
    "unknown lane": (["run", str(FIXTURES / "desk"), "echo", "--lane", "fast"], "--lane"),
    "unknown export": (["show", "dur_x", "--export", "yaml", "x"], "yaml"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_usage(desk: Desk, case: str) -> None:
    arguments, words = WRONG[case]
    (desk.home / "broken.txt").write_bytes(b"caf\xe9")
    refused = desk(*arguments)
    assert refused.code == 2, refused
    assert words in refused.err
    assert refused.err.startswith("operator-inbox: ")
    assert refused.err.count("\n") == 1
    assert refused.out == ""
    assert not desk.data.exists()


def test_wrong_usage_as_an_envelope(desk: Desk) -> None:
    refused = desk("answer", "dur_x", "--json")
    assert refused.code == 2
    assert refused.error["code"] == "VALIDATION_ERROR"
    assert "VALUE" in refused.error["message"]


def test_help_names_every_command(desk: Desk) -> None:
    shown = desk("--help")
    assert shown.code == 0
    for command in ("answer", "cancel", "check", "demo", "list", "run", "show"):
        assert f"\n  {command} " in shown.out
        assert desk(command, "--help").code == 0


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_interrupted(desk: Desk) -> None:
    """Ctrl+C ends a waiting command at once; what was started stays."""
    running = desk.start("run", FIXTURES / "desk", "pause_here", "--input", '{"ms": 60000}')
    until((desk.data / "runtime.db").exists)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=20)
    assert running.returncode == 130, err
    assert out == b""
    assert err.strip().startswith(b"operator-inbox: interrupted")
    assert err.strip().count(b"\n") == 0


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_interrupted_by_a_signal_that_another_thread_took(desk: Desk) -> None:
    """The thread that waits is woken all the same; by itself it would sleep until the next thing happens."""
    program = f"""
import signal, threading, time
from pathlib import Path
from inbox_app.cli import main

def interrupt():
    while not list(Path({str(desk.data)!r}).glob("runtime.db")):
        time.sleep(0.01)
    time.sleep(0.5)
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)

threading.Thread(target=interrupt, daemon=True).start()
main({desk.words("run", FIXTURES / "desk", "pause_here", "--input", '{"ms": 60000}')[1:]!r})
"""
    process = desk.spawn([sys.executable, "-c", program])
    _, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 130
    assert b"interrupted" in err


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
def test_output_that_goes_nowhere(desk: Desk) -> None:
    """A closed or full standard output: one line that says so, and which run it was about."""
    closed = through_shell(desk, '"$@" >&-', "list")
    assert (closed.code, closed.out) == (1, "")
    assert closed.err == "operator-inbox: The standard output is closed, so nothing was done.\n"
    assert not desk.data.exists()
    if not Path("/dev/full").exists():
        return
    for arguments in (["list"], ["check", FIXTURES / "desk"], ["list", "--json"]):
        full = through_shell(desk, '"$@" >/dev/full', *arguments)
        assert full.code == 1
        assert full.err.count("\n") == 1
        assert "The output cannot be written: No space left on device." in full.err
    for json in ([], ["--json"]):
        full = through_shell(desk, '"$@" >/dev/full', "run", FIXTURES / "desk", "ask_name", *json)
        assert full.code == 1
        assert full.err.count("\n") == 1
        sessions = [item["session_id"] for item in desk("list", "--json").json["approvals"]]
        assert sessions[-1] in full.err


def through_shell(desk: Desk, script: str, *arguments: object) -> Ended:
    process = desk.spawn(["bash", "-c", script, "bash", *desk.words(*arguments)])
    out, err = process.communicate(timeout=LIMIT_S)
    return Ended(process.returncode, out.decode(), err.decode())


def test_a_reader_that_leaves(desk: Desk) -> None:
    listing = desk.start("check", FIXTURES / "desk")
    assert listing.stdout is not None
    listing.stdout.close()
    assert listing.stderr is not None
    assert listing.stderr.read() == b""
    assert listing.wait(20) == 1
    listing.stderr.close()
    assert listing.stdin is not None
    listing.stdin.close()


def test_ctrl_c_while_the_program_is_loaded_prints_no_traceback(desk: Desk) -> None:
    process = desk.spawn([sys.executable, "-c", "import inbox_app; raise KeyboardInterrupt"])
    assert process.communicate(timeout=LIMIT_S)[1] == b"operator-inbox: interrupted\n"


@pytest.mark.parametrize(
    ("command", "said"), [("doctor", b"nothing was changed"), ("list", b"unfinished runs stay in the data folder")]
)
def test_ctrl_c_says_what_became_of_the_work(desk: Desk, command: str, said: bytes) -> None:
    program = "import click, inbox_app.cli as one\ndef stop(*_, **__): raise KeyboardInterrupt\n"
    program += f"one.cli.main = stop\none.main([{command!r}])"
    process = desk.spawn([sys.executable, "-c", program])
    assert said in process.communicate(timeout=LIMIT_S)[1]
    assert process.returncode == 130
