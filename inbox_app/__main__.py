"""``python -m inbox_app`` is the same as ``operator-inbox``."""

from __future__ import annotations

import sys

from inbox_app.cli import main

if __name__ == "__main__":
    sys.exit(main())
