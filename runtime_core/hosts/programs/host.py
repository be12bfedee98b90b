"""The program that runs the Python handlers of one repository revision; the code is in `handler_host`.

Started isolated and told everything by its first message, so only the standard library is needed.
"""

import os
import sys
from importlib import import_module

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
main = import_module("handler_host.main").main
del sys.path[0]

if __name__ == "__main__":
    main()
