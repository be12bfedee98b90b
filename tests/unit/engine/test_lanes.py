"""Starting tools: the rules of the route, unknown names, broken input (contract 6.4)."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime_core.repo.bundle import BundleError
from runtime_core.runtime import Runtime
from runtime_core.wire.codes import RuntimeFault
from tests.unit.engine.workshop import Repo, bench, play


def desk_repo(root: Path) -> Repo:
    repo = Repo(root)
    repo.durable("open", ts="return params;")
    repo.tool("closed", ts="return 1;", execution="durable")
    repo.tool("inline", ts="return 1;", triggers=[{"kind": "invoke"}])
    return repo


@pytest.mark.parametrize(
    ("tool", "code"),
    [
        ("nobody", "tool_not_found"),
        ("closed", "tool_not_invocable"),
        ("inline", "tool_not_durable"),
    ],
)
def test_the_invoke_lane_has_the_rules_of_the_route(tmp_path: Path, tool: str, code: str) -> None:
    async def story() -> None:
        async with bench(desk_repo(tmp_path / "repo"), tmp_path / "data") as desk:
            with pytest.raises(RuntimeFault) as caught:
                await desk.run(tool, lane="invoke")
            assert caught.value.code == code
            assert tool in caught.value.message
            assert (await desk.run("open", {"a": 1}, lane="invoke"))["result"] == {"a": 1}

    play(story())


def test_the_direct_lane_starts_any_tool(tmp_path: Path) -> None:
    async def story() -> None:
        async with bench(desk_repo(tmp_path / "repo"), tmp_path / "data") as desk:
            assert (await desk.run("closed"))["outcome"] == {"kind": "complete"}
            assert (await desk.run("inline"))["result"] == 1
            by_name = await desk.runtime.run_tool(None, "inline", "{}", who="ann")
            assert by_name["result"] == 1

    play(story())


def test_broken_input_names_line_and_column_and_starts_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        async with bench(desk_repo(tmp_path / "repo"), tmp_path / "data") as desk:
            with pytest.raises(RuntimeFault) as caught:
                await desk.runtime.run_tool(desk.repo.root, "open", '{"a": 1,\n oops}', who="ann")
            assert caught.value.code == "VALIDATION_ERROR"
            assert caught.value.details["line"] == 2
            assert (await desk.runtime.runs(finished=True))["total"] == 0

    play(story())


def test_a_broken_repository_is_refused_with_its_problems(tmp_path: Path) -> None:
    async def story() -> None:
        async with bench(Repo(tmp_path / "repo"), tmp_path / "data") as desk:
            with pytest.raises(BundleError):
                await desk.runtime.add_repository(tmp_path / "nowhere")

    play(story())


def test_changed_code_is_used_by_the_next_run(tmp_path: Path) -> None:
    repo = desk_repo(tmp_path / "repo")

    async def story() -> None:
        async with bench(repo, tmp_path / "data") as desk:
            assert (await desk.run("open", {"a": 1}))["result"] == {"a": 1}
            repo.durable("open", ts="return 'edited';")
            assert (await desk.run("open", {"a": 1}))["result"] == "edited"

    play(story())


def test_a_data_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")

    async def story() -> None:
        with pytest.raises(RuntimeFault) as caught:
            await Runtime(tmp_path / "data").open()
        assert caught.value.code == "data_folder_unusable"
        assert str(tmp_path / "data") in caught.value.message

    play(story())
