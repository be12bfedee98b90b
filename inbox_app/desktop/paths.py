"""Where an installation keeps its files (design.md 6)."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

CONFIG_VARIABLE = "OPERATOR_INBOX_CONFIG"
"""Names another configuration file than the platform's."""


def data_folder(chosen: Path | None = None) -> Path:
    """The folder of the journal and everything beside it: the one chosen with ``--data``, else the platform's."""
    if chosen is not None:
        return chosen.expanduser().absolute()
    return platformdirs.user_data_path("operator-inbox", appauthor=False)


def config_file() -> tuple[Path, bool]:
    """The file with a person's settings, and whether it was named and so has to exist."""
    named = os.environ.get(CONFIG_VARIABLE)
    if named:
        return Path(named).expanduser().absolute(), True
    return platformdirs.user_config_path("operator-inbox", appauthor=False) / "config.toml", False


def samples_folder() -> Path:
    """The bundled sample agents: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "_resources" / "samples"
    return installed if installed.is_dir() else package.parent / "resources" / "samples"
