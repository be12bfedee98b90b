"""Where an installation keeps its files (design.md 6)."""

from __future__ import annotations

from pathlib import Path

import platformdirs


def data_folder(chosen: Path | None = None) -> Path:
    """The folder of the journal and everything beside it: the one chosen with ``--data``, else the platform's."""
    if chosen is not None:
        return chosen.expanduser().absolute()
    return platformdirs.user_data_path("operator-inbox", appauthor=False)


def samples_folder() -> Path:
    """The bundled sample agents: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "_resources" / "samples"
    return installed if installed.is_dir() else package.parent / "resources" / "samples"
