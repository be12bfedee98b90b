"""A pair of Python and PySide6 that is known to crash refuses to start with one sentence that says what to do."""

from __future__ import annotations

import subprocess
import sys

import pytest

from inbox_app.early import BadPairError, check_pair


@pytest.mark.parametrize(
    ("python", "binding"),
    [
        ((3, 11, 7), "6.12.0"),
        ((3, 11, 2), "6.13.1"),
        ((3, 12, 1), "6.10.1"),
        ((3, 11, 0), "6.10.1"),
        ((3, 10, 4), "6.9.2"),
    ],
)
def test_a_bad_pair_is_refused_in_one_sentence(python: tuple[int, ...], binding: str) -> None:
    with pytest.raises(BadPairError) as refused:
        check_pair(python, binding)
    sentence = str(refused.value)
    assert sentence.count("\n") == 0
    assert sentence.endswith(".")
    assert any(word in sentence for word in ("install", "needs"))


@pytest.mark.parametrize(
    ("python", "binding"),
    [
        ((3, 11, 7), "6.11.3"),
        ((3, 11, 7), "6.8.3"),
        ((3, 12, 1), "6.12.0"),
        ((3, 13, 0), "6.12.0"),
        ((3, 12, 0), "6.11"),
    ],
)
def test_a_good_pair_starts(python: tuple[int, ...], binding: str) -> None:
    check_pair(python, binding)


def test_this_pair_is_good() -> None:
    check_pair()


def test_the_check_needs_no_qt() -> None:
    code = "import sys, inbox_app.early as e; e.check_pair(); e.start_tracing(); print('PySide6' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
