"""Repositories in the whole window: what is listed, built, deployed and switched, and what is told while it goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QApplication, QFileDialog, QPlainTextEdit, QWidget
from pytestqt.qtbot import QtBot

from inbox_app.gateway.base import GatewayError
from inbox_app.gateway.builds import Build, Deploy, LogLine
from inbox_app.gateway.catalog import Repository
from inbox_app.repositories.deploy_dialog import DeployDialog
from inbox_app.repositories.section import RepositoriesSection
from inbox_app.widgets.check_box import CheckBox
from inbox_app.widgets.dialogs import ConfirmDialog
from tests.gui.test_window import Scene, Start, start, texts
from tests.support.drivers import controls
from tests.support.fake_builds import FakeBuilds, FakeCatalog, build, deployed, failed_deploy, repository, touching
from tests.support.fake_gateway import FakeGateway

__all__ = ["start"]

PATH = "/agents/release-desk"
RUNNING = build(0, id="build_now", state="running", ended_at=None, log=())
DONE = build(0, id="build_now", log=[LogLine("Reading"), LogLine("Build succeeded")])


class Repositories:
    """The section in a window, with the catalog and the builds that it talks to."""

    def __init__(self, scene: Scene, catalog: FakeCatalog, builds: FakeBuilds, qtbot: QtBot) -> None:
        self.scene = scene
        self.catalog = catalog
        self.builds = builds
        self.qtbot = qtbot
        self.section = scene.window.findChild(RepositoriesSection)

    @property
    def texts(self) -> list[str]:
        assert self.section is not None
        return texts(self.section.page)

    @property
    def log(self) -> str:
        assert self.section is not None
        view = self.section.page.findChild(QPlainTextEdit, options=Qt.FindChildOption.FindChildrenRecursively)
        views = [one for one in self.section.page.findChildren(QPlainTextEdit) if one.isVisible()]
        assert view is not None
        return "\n".join(one.toPlainText() for one in views)

    def until(self, text: str) -> None:
        self.qtbot.waitUntil(lambda: any(text in shown for shown in self.texts))

    def until_log(self, text: str) -> None:
        self.qtbot.waitUntil(lambda: text in self.log)

    def button(self, text: str, of: QWidget | None = None) -> QAbstractButton:
        root = of or self.scene.window
        return next(one for one in root.findChildren(QAbstractButton) if one.text() == text and one.isVisible())

    def click(self, text: str, of: QWidget | None = None) -> None:
        """As soon as it has its place."""
        button = self.button(text, of)
        self.qtbot.waitUntil(lambda: button.width() >= button.sizeHint().width() and button.isEnabled())
        self.qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


Open = Callable[..., Repositories]


@pytest.fixture
def shown(start: Start, qtbot: QtBot) -> Open:
    def make(*builds: Build, catalog: FakeCatalog | None = None) -> Repositories:
        gateway = FakeGateway()
        catalog = catalog or FakeCatalog(repository())
        gateway.catalog, gateway.builds = catalog, FakeBuilds(catalog, *builds)
        scene = start(gateway=gateway, wait=False)
        qtbot.waitUntil(lambda: scene.desk.has_view("repositories"))
        scene.press("g", "r")
        qtbot.waitUntil(lambda: scene.window.list_pane.table.model().rowCount() == len(catalog.listed))
        return Repositories(scene, catalog, gateway.builds, qtbot)

    return make


def test_repositories_are_listed_with_their_state_and_the_first_is_shown(shown: Open, qtbot: QtBot) -> None:
    broken = repository("refund-desk", broken=True, problems=["amodal.json: It is no JSON."], builtins=())
    it = shown(catalog=FakeCatalog(repository(), repository("support-desk", trusted=False, needs=["packages"]), broken))
    rows = it.scene.window.list_pane.table.model()
    words = [rows.index(row, 0).data() for row in range(3)]
    assert [("Ready" in words[0]), ("Needs trust" in words[1]), ("Cannot be used" in words[2])] == [True] * 3
    it.until("release-desk")
    assert any("15 tools, 2 agents" in text for text in it.texts)
    it.scene.press("j", "j")
    it.until("amodal.json: It is no JSON.")
    assert it.scene.current == "/agents/refund-desk"


def test_a_reload_is_followed_while_it_goes_on(shown: Open, qtbot: QtBot) -> None:
    it = shown(failed_deploy())
    it.until("Why it failed")
    it.click("Reload")
    it.until("Reloading")
    qtbot.waitUntil(lambda: it.builds.reloaded == [PATH])
    assert not it.button("Reload").isEnabled()
    it.builds.tell(RUNNING, LogLine("Reading", stage="load"))
    it.until_log("Reading")
    assert not any("Why it failed" in text for text in it.texts)
    it.builds.tell(LogLine("a warning", "warning"))
    it.until_log("a warning")
    it.builds.tell(DONE, None)
    qtbot.waitUntil(lambda: it.button("Reload").isEnabled())
    it.until_log("Build succeeded")
    assert it.builds.left == 1


def test_what_a_build_changed_and_touches_is_told_and_leads_to_the_run(shown: Open, qtbot: QtBot) -> None:
    it = shown(touching())
    it.until("Tools added: book_dock")
    it.until("ship would stop: ship makes ctx.step(weigh) where ctx.now was recorded")
    link = next(one for one in it.scene.window.findChildren(QAbstractButton) if one.accessibleName().endswith("ship"))
    qtbot.mouseClick(link, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: it.scene.desk.view == "history")


def test_an_older_build_is_shown_with_its_log(shown: Open, qtbot: QtBot) -> None:
    it = shown(build(1), failed_deploy(2))
    it.until_log("Reading /agents/release-desk")
    assert it.section is not None
    it.section.page.build_rows.select_row(1)
    it.until_log("error TS2322")
    it.until("amodal/tools/ship/handler.ts:14")
    assert {"TypeScript", "Validation"} <= set(it.texts)


def deploy_dialog(it: Repositories) -> DeployDialog:
    it.click("Deploy…")
    it.qtbot.waitUntil(lambda: isinstance(QApplication.activeModalWidget(), DeployDialog))
    dialog = QApplication.activeModalWidget()
    assert isinstance(dialog, DeployDialog)
    return dialog


def write(it: Repositories, dialog: DeployDialog, name: str, text: str) -> None:
    field = next(one for one in controls(dialog) if one.accessibleName().startswith(name))
    field.setFocus()
    it.qtbot.keyClick(field, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    it.qtbot.keyClicks(field, text)


def test_production_is_deployed_only_by_its_name(shown: Open, qtbot: QtBot) -> None:
    it = shown()
    dialog = deploy_dialog(it)
    qtbot.waitUntil(lambda: "Type production to deploy" in texts(dialog))
    do = it.button("Deploy to production", dialog)
    assert not do.isEnabled()
    qtbot.keyClick(dialog, Qt.Key.Key_Return)
    assert it.builds.ordered == []
    write(it, dialog, "This reaches production", "production")
    qtbot.waitUntil(do.isEnabled)
    qtbot.mouseClick(do, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: it.builds.ordered == [Deploy(PATH, "agent_7d1", "main", "production")])
    it.until("Deploying")
    it.builds.tell(GatewayError("platform_unauthorized", "The key is not accepted."))
    it.until("The key is not accepted.")
    assert it.button("Deploy…").isEnabled()


def test_another_environment_needs_no_name_and_nothing_may_be_empty(shown: Open, qtbot: QtBot) -> None:
    it = shown()
    dialog = deploy_dialog(it)
    write(it, dialog, "Environment", "staging")
    write(it, dialog, "Branch", "next")
    do = it.button("Deploy to staging", dialog)
    qtbot.waitUntil(do.isEnabled)
    write(it, dialog, "Branch", " ")
    qtbot.waitUntil(lambda: not do.isEnabled())
    assert "Name a branch to deploy" in texts(dialog)
    write(it, dialog, "Branch", "next")
    qtbot.waitUntil(do.isEnabled)
    qtbot.mouseClick(do, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: it.builds.ordered == [Deploy(PATH, "agent_7d1", "next", "staging")])
    it.builds.tell(None)


def test_a_deploy_that_nobody_followed_can_be_followed_again(shown: Open, qtbot: QtBot) -> None:
    running = failed_deploy()
    it = shown(build(2, kind="platform", state="running", remote="bld_2", branch="main", environment="next", log=()))
    it.until("Log")
    it.click("Follow it")
    qtbot.waitUntil(lambda: it.builds.followed == ["build_2"])
    it.builds.tell(LogLine("going on"), running, None)
    it.until("Why it failed")


def test_a_followed_log_is_shown_as_it_comes_and_is_whole_again_when_following_breaks_off(
    shown: Open, qtbot: QtBot
) -> None:
    kept = deployed(2, state="running", ended_at=None, log=[LogLine("one"), LogLine("two")])
    it = shown(kept)
    it.until_log("two")
    it.click("Follow it")
    qtbot.waitUntil(lambda: it.builds.followed == ["build_2"])
    it.builds.tell(replace(kept, log=()), LogLine("one"))
    qtbot.waitUntil(lambda: "one" in it.log and "two" not in it.log)
    it.builds.kept = [kept]
    it.builds.tell(GatewayError("platform_unreachable", "The connection broke off."))
    it.until("The connection broke off.")
    it.until_log("two")


def boxes(it: Repositories) -> dict[str, CheckBox]:
    return {one.text(): one for one in it.scene.window.findChildren(CheckBox) if one.isVisible()}


def test_builds_of_another_process_are_shown(shown: Open, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inbox_app.repositories.section.LOOK_MS", 50)
    it = shown()
    it.until("Not built yet")
    assert it.section is not None
    builds = it.section.page.builds
    it.builds.kept = [RUNNING]
    qtbot.waitUntil(lambda: [build.state for build in builds.rows] == ["running"])
    it.builds.kept = [DONE]
    qtbot.waitUntil(lambda: [build.state for build in builds.rows] == ["succeeded"])
    it.until_log("Build succeeded")


def test_a_built_in_tool_is_switched(shown: Open, qtbot: QtBot) -> None:
    it = shown()
    qtbot.waitUntil(lambda: "web_search" in boxes(it))
    assert not boxes(it)["web_search"].isChecked()
    assert any("Needs a provider" in text for text in it.texts)
    boxes(it)["memory"].setFocus()
    qtbot.keyClick(boxes(it)["memory"], Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: it.builds.switched == [(PATH, "memory", False)])
    qtbot.waitUntil(lambda: not boxes(it)["memory"].isChecked())


def test_a_box_that_is_pressed_again_and_again_switches_no_other_tool(shown: Open, qtbot: QtBot) -> None:
    it = shown()
    qtbot.waitUntil(lambda: "memory" in boxes(it))
    boxes(it)["memory"].setFocus()
    for _ in range(3):
        qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Space)
    assert boxes(it)["memory"].hasFocus()
    qtbot.waitUntil(lambda: it.builds.switched == [(PATH, "memory", False)])
    qtbot.waitUntil(lambda: not boxes(it)["memory"].isChecked())


def test_pressing_reload_once_more_does_not_ask_for_a_deploy(shown: Open, qtbot: QtBot) -> None:
    it = shown()
    it.until("Reload")
    button = it.button("Reload")
    button.setFocus()
    for _ in range(2):
        qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: it.builds.reloaded == [PATH])
    it.builds.tell(DONE, None)
    qtbot.waitUntil(lambda: button.isEnabled() and button.hasFocus())
    assert QApplication.activeModalWidget() is None


def test_a_switch_that_is_refused_shows_what_is_so(shown: Open, qtbot: QtBot) -> None:
    it = shown()
    qtbot.waitUntil(lambda: "memory" in boxes(it))
    it.builds.refuse = GatewayError("data_folder_busy", "Another process holds the data folder.")
    qtbot.mouseClick(boxes(it)["memory"], Qt.MouseButton.LeftButton)
    it.until("Another process holds the data folder.")
    qtbot.waitUntil(boxes(it)["memory"].isChecked)


def test_trust_is_asked_before_it_is_given(shown: Open, qtbot: QtBot) -> None:
    it = shown(catalog=FakeCatalog(repository(trusted=False, needs=["npm packages of ship/package.json"])))
    it.until("npm packages of ship/package.json")
    it.click("Trust")
    qtbot.waitUntil(lambda: isinstance(QApplication.activeModalWidget(), ConfirmDialog))
    assert it.catalog.trusted == []
    it.click("Trust it", QApplication.activeModalWidget())
    qtbot.waitUntil(lambda: it.catalog.trusted == [PATH])
    qtbot.waitUntil(lambda: not any("npm packages" in text for text in it.texts))


def test_an_empty_list_leads_to_a_repository(shown: Open, qtbot: QtBot) -> None:
    it = shown(catalog=FakeCatalog())
    qtbot.waitUntil(lambda: "No repository is open" in texts(it.scene.window.list_pane))
    it.click("Open a repository")
    qtbot.waitUntil(lambda: it.scene.window.findChild(QFileDialog) is not None)
    dialog = it.scene.window.findChild(QFileDialog)
    assert dialog is not None
    dialog.fileSelected.emit("/agents/scribe")
    dialog.close()
    qtbot.waitUntil(lambda: it.scene.current == "/agents/scribe")


def test_a_repository_is_removed_from_the_list_when_that_was_confirmed(shown: Open, qtbot: QtBot) -> None:
    it = shown(catalog=FakeCatalog(repository(), repository("support-desk")))
    qtbot.waitUntil(lambda: it.scene.desk.can("repositories.remove"))
    it.scene.desk.act("repositories.remove")
    qtbot.waitUntil(lambda: isinstance(QApplication.activeModalWidget(), ConfirmDialog))
    assert len(it.catalog.listed) == 2
    it.click("Remove", QApplication.activeModalWidget())
    qtbot.waitUntil(lambda: it.scene.current == "/agents/support-desk")
    it.until("support-desk")


def test_a_list_that_cannot_be_read_is_tried_again(shown: Open, qtbot: QtBot) -> None:
    catalog = FakeCatalog()
    catalog.refuse = GatewayError("INTERNAL_ERROR", "The built-in runtime is closed.")
    it = shown(catalog=catalog)
    qtbot.waitUntil(lambda: "The built-in runtime is closed." in texts(it.scene.window.list_pane))
    catalog.refuse, catalog.listed = None, [repository()]
    it.click("Try again")
    it.until("release-desk")


class SlowCatalog(FakeCatalog):
    """Tells what is listed when it is asked, as soon as ``gate`` is open."""

    def __init__(self, *listed: Repository) -> None:
        super().__init__(*listed)
        self.gate = asyncio.Event()
        self.gate.set()
        self.looks = 0

    async def repositories(self) -> Sequence[Repository]:
        self.looks += 1
        found = tuple(self.listed)
        await self.gate.wait()
        return found


def test_what_changes_while_the_list_is_read_is_read_as_well(shown: Open, qtbot: QtBot) -> None:
    catalog = SlowCatalog(repository())
    it = shown(catalog=catalog)
    section = it.section
    assert section is not None
    catalog.gate.clear()
    catalog.looks = 0
    section.shown()
    section.close()  # it does not look again by itself
    qtbot.waitUntil(lambda: catalog.looks > 0)
    catalog.listed.append(repository("support-desk"))
    section.shown()
    section.close()
    catalog.gate.set()
    qtbot.waitUntil(lambda: section.list_pane.table.model().rowCount() == 2)


def test_text_from_outside_is_shown_as_it_is(shown: Open, qtbot: QtBot) -> None:
    nasty = "<b>x</b>\u202eevil"
    it = shown(build(1, who=nasty, log=[LogLine(nasty)]), catalog=FakeCatalog(repository(version=nasty)))
    it.until_log("<b>x</b>")
    assert "\u202e" not in it.log
    assert not any("\u202e" in text for text in it.texts)


def test_everything_can_be_reached_with_the_keyboard_and_has_a_name(shown: Open, qtbot: QtBot) -> None:
    it = shown(failed_deploy(), catalog=FakeCatalog(repository(trusted=False, needs=["packages"])))
    it.until("Why it failed")
    assert it.section is not None
    it.scene.press(Qt.Key.Key_Return)
    page = it.section.page
    qtbot.waitUntil(lambda: page.isAncestorOf(QApplication.focusWidget() or it.scene.window))
    for control in filter(QWidget.isVisible, controls(page)):
        assert control.accessibleName(), control
        assert control.focusPolicy() & Qt.FocusPolicy.TabFocus, control.accessibleName()
    it.scene.press(Qt.Key.Key_Escape)
    qtbot.waitUntil(it.scene.table.hasFocus)
