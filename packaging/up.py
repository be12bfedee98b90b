"""Operator Inbox from a fresh checkout: sets everything up, then opens the window or runs the checks.

Needs Python 3.11 to 3.13 and nothing else. ``python3 packaging/up.py --help`` lists the commands.

This file is read by any Python, however old, so that an unsuitable one gets a sentence instead of a syntax error:
keep its syntax simple. The work is done in the modules beside it, which may use Python 3.11.
"""

import sys

if not (3, 11) <= sys.version_info[:2] <= (3, 13):
    sys.exit(
        "error: Operator Inbox needs Python 3.11, 3.12 or 3.13, and this is Python %d.%d. "
        "Start it with one of those, for example: python3.11 packaging/up.py" % sys.version_info[:2]
    )

sys.dont_write_bytecode = True

import up_commands

if __name__ == "__main__":
    sys.exit(up_commands.main(sys.argv[1:]))
