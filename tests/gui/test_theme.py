"""Colours that can be read, fonts that do not move, icons that exist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont, QFontInfo, QPalette, QTextLayout
from PySide6.QtWidgets import QApplication, QLineEdit
from pytestqt.qtbot import QtBot

from inbox_app.theme import icons, resources
from inbox_app.theme.fonts import Fonts
from inbox_app.theme.palettes import PALETTES, PaletteName
from inbox_app.theme.theme import Theme
from inbox_app.theme.tokens import FONT_SIZE, FontKind, Role

SOURCES = Path(__file__).parents[2] / "inbox_app"
SURFACES: tuple[Role, ...] = ("panel", "list", "card", "sunken", "hover", "selection")
TEXTS: tuple[Role, ...] = (
    "text", "muted", "accent", "waiting", "due", "draft", "held", "sent", "answered", "refused", "expired", "failed",
    "production",
)  # fmt: skip
PAIRS: tuple[tuple[Role, Role], ...] = (
    ("on_ink", "ink"), ("on_prod", "production"), ("on_accent", "accent"), ("text", "window"), ("muted", "window"),
    ("text", "due_wash"), ("due", "due_wash"), ("accent", "due_wash"), ("text", "prod_wash"),
    ("production", "prod_wash"), ("text", "add_mark"), ("text", "del_mark"), ("answered", "add_wash"),
    ("failed", "del_wash"), ("muted", "add_wash"), ("muted", "del_wash"), ("card", "due"), ("production", "window"),
)  # fmt: skip


def luminance(value: str) -> float:
    parts = [int(value[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", PALETTES)
def test_every_role_has_a_colour(name: PaletteName) -> None:
    assert set(PALETTES[name]) == set(get_args(Role))
    assert all(re.fullmatch("#[0-9A-F]{6}", value) for value in PALETTES[name].values())


@pytest.mark.parametrize("name", PALETTES)
@pytest.mark.parametrize("role", TEXTS)
def test_text_reaches_its_contrast_on_every_surface(name: PaletteName, role: Role) -> None:
    colors = PALETTES[name]
    worst = min(SURFACES, key=lambda surface: contrast(colors[role], colors[surface]))
    needed = 6.5 if name == "contrast" else 4.5
    assert contrast(colors[role], colors[worst]) >= needed, f"{role} on {worst}"


@pytest.mark.parametrize("name", PALETTES)
@pytest.mark.parametrize(("text", "ground"), PAIRS)
def test_text_on_its_own_ground(name: PaletteName, text: Role, ground: Role) -> None:
    assert contrast(PALETTES[name][text], PALETTES[name][ground]) >= 4.5


@pytest.mark.parametrize("name", PALETTES)
@pytest.mark.parametrize("role", ["line_strong", "focus"])
def test_marks_reach_three_to_one(name: PaletteName, role: Role) -> None:
    assert min(contrast(PALETTES[name][role], PALETTES[name][surface]) for surface in SURFACES) >= 2.95


def test_the_ratios_of_the_reference_hold() -> None:
    """A few cells of the reference's own table, so that a changed value is noticed."""
    light, dark, high = (PALETTES[name] for name in ("light", "dark", "contrast"))
    assert int(contrast(light["text"], light["selection"]) * 10) == 137
    assert int(contrast(dark["muted"], dark["selection"]) * 10) == 49
    assert int(contrast(high["production"], high["selection"]) * 10) == 67


def test_no_colour_value_outside_the_palettes() -> None:
    found = [
        f"{path.name}: {hit[0]}"
        for path in SOURCES.rglob("*.py")
        if path.name != "palettes.py" and "_resources" not in path.parts
        for hit in re.finditer(r"[\"']#[0-9A-Fa-f]{3,8}[\"']", path.read_text())
    ]
    assert found == []


@pytest.mark.parametrize("name", PALETTES)
def test_unchecked_marks_of_native_controls_are_seen(theme: Theme, name: PaletteName) -> None:
    theme.set_palette(name)
    palette = theme.palette()
    for role in (QPalette.ColorRole.Dark, QPalette.ColorRole.Shadow):
        assert contrast(palette.color(role).name().upper(), PALETTES[name]["card"]) >= 3


def test_selected_text_in_a_field_is_seen(theme: Theme, qtbot: QtBot) -> None:
    field = QLineEdit("text")
    qtbot.addWidget(field)
    field.ensurePolished()
    assert field.palette().color(QPalette.ColorRole.Highlight) == theme.color("accent")


def test_fonts_are_the_bundled_ones_and_figures_do_not_move(theme: Theme) -> None:
    for kind, size in FONT_SIZE.items():
        font = theme.font(kind)
        assert font.pixelSize() == size
        assert QFontInfo(font).family() == ("JetBrains Mono" if kind == "mono" else "Inter")
    metrics = theme.metrics("meta")
    assert {metrics.horizontalAdvance(digit) for digit in "0123456789"} == {metrics.horizontalAdvance("0")}


def glyphs(text: str, font: QFont) -> list[int]:
    layout = QTextLayout(text, font)
    layout.beginLayout()
    layout.createLine()
    layout.endLayout()
    return [glyph for run in layout.glyphRuns() for glyph in run.glyphIndexes()]


@pytest.mark.parametrize("kind", get_args(FontKind))
@pytest.mark.parametrize("strong", [False, True])
def test_text_is_drawn_letter_by_letter(theme: Theme, kind: FontKind, strong: bool) -> None:
    font = theme.font(kind, strong=strong)
    for text in ("4x4", "0x1F", "10x20", "->", "<-", "=>", "<=", "!=", "==", "-->", "www", "fi", "1/2", "1⁄2", "2nd"):
        assert glyphs(text, font) == [glyph for letter in text for glyph in glyphs(letter, font)], text


def test_a_font_of_the_system_is_literal_too(qapp: QApplication) -> None:
    system = Fonts(bundled=False)
    system.family = "DejaVu Sans"
    font = system.font("body")
    for text in ("office", "fi", "1⁄2", "->"):
        assert glyphs(text, font) == [glyph for letter in text for glyph in glyphs(letter, font)], text


def test_scripts_that_join_their_letters_still_do(qapp: QApplication) -> None:
    system = Fonts(bundled=False)
    system.family = "DejaVu Sans"
    font = system.font("body")
    if QFontInfo(font).family() != "DejaVu Sans":
        pytest.skip("no font with Arabic letters that is known to join them")
    joined, lam_alef = "\u0633\u0644\u0645", "\u0644\u0627"
    assert sorted(glyphs(joined, font)) != sorted(glyph for letter in joined for glyph in glyphs(letter, font))
    assert len(glyphs(lam_alef, font)) == 1


def test_every_icon_named_in_the_sources_exists(theme: Theme) -> None:
    shipped = {path.name.removesuffix(".svg") for path in resources.resources().joinpath("icons").iterdir()}
    assert len(shipped) >= 40
    for name in shipped | {"dot", "ring", "half"}:
        assert "currentColor" in icons.svg(name)
        assert not theme.pixmap(name, "due", 16, scale=2.0).isNull()


def test_an_icon_has_the_colour_of_its_role_and_the_pixels_of_the_screen(theme: Theme) -> None:
    pixmap = theme.pixmap("dot", "failed", 16, scale=2.0)
    assert (pixmap.width(), pixmap.devicePixelRatio()) == (32, 2.0)
    assert pixmap.toImage().pixelColor(16, 16) == QColor(PALETTES["light"]["failed"])


def test_a_change_of_palette_reaches_the_application(theme: Theme, qapp: QApplication, qtbot: QtBot) -> None:
    with qtbot.waitSignal(theme.changed):
        theme.set_palette("dark")
    assert qapp.palette().color(QPalette.ColorRole.Window) == QColor(PALETTES["dark"]["window"])
    assert theme.color("text") == QColor(PALETTES["dark"]["text"])


def test_the_theme_of_the_system_is_followed_while_it_is_chosen(theme: Theme, qapp: QApplication) -> None:
    changed = qapp.styleHints().colorSchemeChanged
    theme.set_palette("system")
    assert (theme.choice, theme.name) == ("system", "light")
    changed.emit(Qt.ColorScheme.Dark)
    assert theme.name == "dark"
    assert qapp.palette().color(QPalette.ColorRole.Window) == QColor(PALETTES["dark"]["window"])
    theme.set_palette("contrast")
    changed.emit(Qt.ColorScheme.Light)
    assert theme.name == "contrast"
    theme.set_palette("system")
    assert theme.name == "light"


def test_the_licences_of_what_is_shipped_are_beside_it() -> None:
    names = {path.name for path in resources.resources().joinpath("licences").iterdir()}
    assert {"lucide.txt", "inter.txt", "jetbrains-mono.txt"} <= names
