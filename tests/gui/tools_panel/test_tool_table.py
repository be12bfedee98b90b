"""The table of tools: whatever changes in the repositories, its rows are those of a table made anew."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QObject
from pytestqt.modeltest import ModelTester
from pytestqt.qtbot import QtBot

from inbox_app.gateway.catalog import Repository, ToolInfo
from inbox_app.tools_panel.launches import Launch
from inbox_app.tools_panel.tool_table import ToolTable

TOOLS = st.builds(
    ToolInfo,
    st.sampled_from("abcd"),
    st.just(""),
    st.sampled_from(["", "one", "two\nlines"]),
    durable=st.booleans(),
    invocable=st.booleans(),
)
REPOSITORIES = st.builds(
    Repository,
    st.sampled_from(["/x", "/y", "/z"]),
    st.sampled_from(["x", "y"]),
    tools=st.lists(TOOLS, max_size=4, unique_by=lambda tool: tool.name),
    problems=st.lists(st.just("wrong"), max_size=1),
    broken=st.booleans(),
    trusted=st.booleans(),
)
STATES = st.lists(
    st.tuples(st.lists(REPOSITORIES, max_size=3, unique_by=lambda one: one.path), st.booleans()), min_size=1, max_size=4
)


def no_launch(key: str) -> Launch | None:
    return None


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(states=STATES)
def test_rows_are_those_of_a_table_made_anew(
    qtbot: QtBot, qtmodeltester: ModelTester, states: list[tuple[list[Repository], bool]]
) -> None:
    parent = QObject()
    table = ToolTable(parent, no_launch)
    for listed, only in states:
        table.put(listed, invocable_only=only)
        qtmodeltester.check(table)
        fresh = ToolTable(parent, no_launch)
        fresh.put(listed, invocable_only=only)
        assert [table.spoken(row) for row in table.rows] == [fresh.spoken(row) for row in fresh.rows]
        assert [table.row_id(row) for row in table.rows] == [fresh.row_id(row) for row in fresh.rows]
