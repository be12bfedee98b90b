"""What ``automations add`` refuses before it looks at anything."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from inbox_app.cli import cli


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "either --tool NAME or --prompt TEXT"),
        (("--tool", "count", "--prompt", "x"), "either --tool NAME or --prompt TEXT"),
        (("--tool", "count"), "one of --cron, --every and --at"),
        (("--tool", "count", "--cron", "@daily", "--every", "1h"), "one of --cron, --every and --at"),
        (("--tool", "count", "--cron", "61 * * * *"), 'The minute "61"'),
        (("--tool", "count", "--every", "1h", "--timezone", "Mars/Base"), 'There is no time zone "Mars/Base"'),
        (("--tool", "count", "--agent", "x", "--every", "1h"), "--agent goes with --prompt"),
        (("--tool", "count", "--input", "{", "--every", "1h"), "--input"),
        (("--prompt", "@nowhere", "--every", "1h"), "--prompt: nowhere cannot be read"),
    ],
)
def test_bad_arguments_are_named(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    done = CliRunner().invoke(cli, ["automations", "--data", str(tmp_path / "data"), "add", str(tmp_path), *arguments])
    assert (done.exit_code, said in done.output) == (2, True), done.output
    assert not (tmp_path / "data").exists()
