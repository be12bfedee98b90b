"""Calls of durable Python handlers that give something else on every pass are warnings, with file and line."""

from __future__ import annotations

import pytest

from runtime_core.repo.loader import load_bundle
from tests.unit.repo.building import Repository


def warned(repository: Repository) -> list[tuple[str, int | None, str]]:
    return [(problem.file, problem.line, problem.message) for problem in load_bundle(repository.root).problems]


def durable(repository: Repository, source: str, *, name: str = "ask") -> None:
    repository.tool(name, "handler.py", execution="durable")
    repository.write(f"amodal/tools/{name}/handler.py", source)


@pytest.mark.parametrize(
    ("source", "called"),
    [
        ("import time\nasync def handler(params, ctx):\n    return time.time()\n", "time.time"),
        ("import time as t\nasync def handler(params, ctx):\n    return t.monotonic_ns()\n", "time.monotonic_ns"),
        ("from time import time\nasync def handler(params, ctx):\n    return time()\n", "time.time"),
        (
            "import datetime\nasync def handler(params, ctx):\n    return datetime.datetime.now()\n",
            "datetime.datetime.now",
        ),
        (
            "from datetime import date as d\nasync def handler(params, ctx):\n    return d.today()\n",
            "datetime.date.today",
        ),
        ("from uuid import uuid4\nasync def handler(params, ctx):\n    return str(uuid4())\n", "uuid.uuid4"),
        ("async def handler(params, ctx):\n    import random\n    return random.choice([1, 2])\n", "random.choice"),
        ("import os\nasync def handler(params, ctx):\n    return os.urandom(4).hex()\n", "os.urandom"),
        ("import time\nasync def handler(params, ctx):\n    return time.perf_counter()\n", "time.perf_counter"),
        ("import time\nasync def handler(params, ctx):\n    return pass_on(time.time)\n", "time.time"),
        ("from random import random\nasync def handler(params, ctx):\n    roll = random\n", "random.random"),
        ("import asyncio\nasync def handler(params, ctx):\n    done, _ = await asyncio.wait([])\n", "asyncio.wait"),
    ],
)
def test_a_call_that_differs_is_named_with_its_line(repository: Repository, source: str, called: str) -> None:
    durable(repository, source)
    ((file, line, message),) = warned(repository)
    assert (file, line) == ("amodal/tools/ask/handler.py", 3)
    assert message.startswith(called)


@pytest.mark.parametrize(
    "source",
    [
        "async def handler(params, ctx):\n    return [ctx.now(), ctx.random()]\n",
        "import time\nasync def handler(params, ctx):\n    return await ctx.step('at', lambda: time.time())\n",
        "import time\ndef at():\n    return time.time()\nasync def handler(params, ctx):\n    ctx.step('at', at)\n",
        "import time\nasync def handler(params, ctx):\n    return await ctx.step('at', time.time)\n",
        "import random\nasync def handler(params, ctx):\n    return random.Random(params['seed']).random()\n",
        "class time:\n    time = staticmethod(lambda: 1)\nasync def handler(params, ctx):\n    return time.time()\n",
        "async def handler(params, ctx:\n",
    ],
)
def test_what_repeats_itself_is_not_warned_about(repository: Repository, source: str) -> None:
    durable(repository, source)
    assert warned(repository) == []


def test_tools_that_are_not_durable_may_call_what_they_like(repository: Repository) -> None:
    repository.tool("ask", "handler.py")
    repository.write("amodal/tools/ask/handler.py", "import time\nasync def handler(params, ctx): return time.time()\n")
    assert warned(repository) == []


def test_shared_files_are_read_once_however_they_are_imported(repository: Repository) -> None:
    relative = (
        "from ..._lib.policy import check\nfrom ..._lib import rules\nasync def handler(params, ctx):\n    check()\n"
    )
    absolute = "import amodal._lib.policy\nasync def handler(params, ctx):\n    amodal._lib.policy.check()\n"
    durable(repository, relative, name="one")
    durable(repository, absolute, name="two")
    repository.write("amodal/_lib/policy.py", "from . import clock\ndef check():\n    return clock.at()\n")
    repository.write("amodal/_lib/clock.py", "import time\nfrom . import policy\ndef at():\n    return time.time()\n")
    repository.write("amodal/_lib/rules.py", "import uuid\nNAME = uuid.uuid4()\n")
    repository.write("amodal/_lib/unused.py", "import uuid\nNAME = uuid.uuid4()\n")
    assert sorted((file, line) for file, line, _ in warned(repository)) == [
        ("amodal/_lib/clock.py", 4),
        ("amodal/_lib/rules.py", 2),
    ]
