"""Tools as a person would meet them in the run panel, for pictures and tests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from PySide6.QtWidgets import QScrollArea

from inbox_app.gateway import schemas
from inbox_app.gateway.base import GatewayError, Json, Outcome
from inbox_app.gateway.catalog import Repository, ToolInfo
from inbox_app.theme.theme import Theme
from inbox_app.tools_panel.section import ToolsSection
from tests.support.builders import pause
from tests.support.fake_builds import FakeCatalog
from tests.support.fake_gateway import FakeGateway
from tests.support.stage import Stage, stage

DIGITS = 3544790567247868102

REFUND: Json = {
    "type": "object",
    "required": ["order_id", "amount", "reason"],
    "properties": {
        "order_id": {"type": "integer", "description": "The number on the receipt."},
        "amount": {"type": "number", "minimum": 0, "maximum": 500, "description": "In the currency of the order."},
        "currency": {"enum": ["EUR", "USD", "GBP"], "default": "EUR"},
        "reason": {"type": "string", "maxLength": 600, "description": "Told to the customer as it is."},
        "received": {"type": "string", "format": "date"},
        "notify": {"type": "boolean", "description": "Whether the customer gets a mail."},
        "tags": {"type": "array", "items": {"type": "string"}},
        "pay_to": {
            "oneOf": [
                {
                    "title": "Card",
                    "type": "object",
                    "properties": {"by": {"const": "card"}, "last_digits": {"type": "string", "pattern": "^[0-9]{4}$"}},
                    "required": ["by"],
                },
                {
                    "title": "Bank account",
                    "type": "object",
                    "properties": {"by": {"const": "bank"}, "iban": {"type": "string"}},
                    "required": ["by", "iban"],
                },
            ]
        },
    },
}
FILLED: Json = {
    "order_id": DIGITS,
    "amount": 120.0,
    "currency": "EUR",
    "reason": "Parcel came back unopened, photo checked.\nRefund in full.",
    "notify": True,
    "tags": ["return", "photo"],
    "pay_to": {"by": "bank", "iban": "NL91ABNA0417164300"},
}


def tools() -> list[ToolInfo]:
    return [
        ToolInfo(
            "refund_payment",
            "",
            "Refunds a payment after a person has agreed. Above the limit of the policy it asks twice.",
            REFUND,
            durable=True,
            invocable=True,
            guarded=True,
            effect="once",
            uses=("find_order", "agent:policy_reviewer"),
            reach=("agent:policy_reviewer", "connection:shop", "find_order", "store__orders__get"),
            file="tools/refund_payment/handler.ts",
        ),
        ToolInfo("find_order", "", "Looks an order up.", {}, effect="read", file="tools/find_order/handler.ts"),
        ToolInfo("close_case", "", "Closes a case with its last word.", {}, durable=True, invocable=True),
        ToolInfo("rebuild_index", "", "Builds the search index anew.", {}, durable=True),
    ]


def repositories() -> list[Repository]:
    broken = "amodal.json:3:9: The file is no JSON: a comma is missing. Put it right; the file is read again then."
    needs = ("the MCP server shop, a command that may do whatever you may do: npx shop-server",)
    return [
        Repository("/home/ann/refund-desk", "refund-desk", "1.4.0", "9f3c2ae1", tools=tools()),
        Repository(
            "/home/ann/label-desk",
            "label-desk",
            tools=[ToolInfo("print_label", "", "Prints a label.", {}, durable=True, invocable=True)],
            trusted=False,
            needs=needs,
        ),
        Repository("/home/ann/old-desk", "old-desk", problems=[broken], broken=True),
    ]


async def _shown(
    theme: Theme, name: str = "refund_payment", size: tuple[int, int] = (1280, 772)
) -> tuple[Stage, ToolsSection]:
    schemas.load()
    gateway = FakeGateway()
    gateway.catalog = FakeCatalog(*repositories())
    scene = await stage(theme, gateway, size=size)
    scene.desk.show_view("tools")
    await scene.settle()
    section = scene.window.findChild(ToolsSection)
    assert section is not None
    section.open(name)
    await scene.settle()
    return scene, section


def _fill(section: ToolsSection, value: Json) -> None:
    section.tool_page.form.set_value(value)


async def blank(theme: Theme) -> Stage:
    return (await _shown(theme))[0]


async def filled(theme: Theme) -> Stage:
    scene, section = await _shown(theme, size=(1280, 1040))
    _fill(section, FILLED)
    await scene.settle()
    return scene


async def misfits(theme: Theme) -> Stage:
    scene, section = await _shown(theme)
    _fill(section, {"amount": 700, "reason": "prod\u200buction", "extra": [1, 2]})
    section.tool_page.start()
    await scene.settle()
    return scene


async def as_json(theme: Theme) -> Stage:
    scene, section = await _shown(theme)
    _fill(section, FILLED)
    section.tool_page.toggle_json()
    await scene.settle()
    return scene


async def asking(theme: Theme) -> Stage:
    scene, section = await _shown(theme)
    _fill(section, FILLED)
    asked = pause(1, question="Refund €120.00 to customer C-88?")
    scene.gateway.start_reply = Outcome("awaiting-input", asked.run_id, pause=asked)
    section.tool_page.start()
    await scene.settle()
    return scene


async def completed(theme: Theme) -> Stage:
    scene, section = await _shown(theme, "find_order")
    scene.gateway.start_reply = Outcome("complete", None, {"order": DIGITS, "total": 120.0, "open": False})
    section.tool_page.start()
    await scene.settle()
    return scene


async def refused(theme: Theme) -> Stage:
    scene, section = await _shown(theme, "rebuild_index")
    scene.gateway.start_reply = GatewayError("tool_not_found", 'There is no tool "rebuild_index" any more.')
    section.tool_page.start()
    await scene.settle()
    return scene


async def broken(theme: Theme) -> Stage:
    return (await _shown(theme, "/home/ann/old-desk"))[0]


async def untrusted(theme: Theme) -> Stage:
    return (await _shown(theme, "/home/ann/label-desk"))[0]


async def wide(theme: Theme) -> Stage:
    """A schema of many fields, scrolled a little, in a narrow window."""
    scene, section = await _shown(theme, size=(800, 600))
    catalog = scene.gateway.catalog
    assert isinstance(catalog, FakeCatalog)
    kinds: list[Json] = [{"type": "string"}, {"type": "integer"}, {"enum": ["a", "b"]}, {"type": "boolean"}]
    schema: Json = {"type": "object", "properties": {f"field_{at}": kinds[at % 4] for at in range(200)}}
    first = catalog.listed[0]
    catalog.listed[0] = replace(first, tools=[replace(tools()[0], schema=schema)])
    section.shown()
    await scene.settle()
    scene.desk.open_selected()
    await scene.settle()
    area = section.tool_page.findChild(QScrollArea)
    assert area is not None
    area.verticalScrollBar().setValue(300)
    await scene.settle()
    return scene


SCENES: dict[str, Callable[[Theme], Awaitable[Stage]]] = {
    "tool": blank,
    "tool-filled": filled,
    "tool-misfits": misfits,
    "tool-json": as_json,
    "tool-asks": asking,
    "tool-completed": completed,
    "tool-refused": refused,
    "tool-broken": broken,
    "tool-untrusted": untrusted,
    "tool-wide": wide,
}
