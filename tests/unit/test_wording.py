"""Times as the lists show them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import pytest
from PySide6.QtCore import QLocale

from inbox_app.automations.words import day_and_time
from inbox_app.models.wording import moment

AT = datetime(2026, 12, 1, 12, 2).timestamp()


@pytest.fixture
def no_locale() -> Iterator[None]:
    before = QLocale()
    QLocale.setDefault(QLocale.c())
    yield
    QLocale.setDefault(before)


@pytest.mark.usefixtures("no_locale")
def test_without_a_locale_a_date_is_read_in_one_way_only() -> None:
    assert moment(AT, AT + 10 * 86400) == "2026-12-01 12:02"
    assert day_and_time(AT) == "Tue 2026-12-01 12:02"
