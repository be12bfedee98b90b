"""Repositories as a section of the window: reads them, builds them here, deploys them, switches their tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer, Slot

from inbox_app.commands.building import Hear, deploy_repository, follow_build, reload_repository, switch_tool
from inbox_app.commands.repositories import RepositoryActs
from inbox_app.gateway.base import GatewayError
from inbox_app.gateway.builds import Build, BuildEvent, Deploy, LogLine
from inbox_app.gateway.catalog import Repository
from inbox_app.list_section import ListSection
from inbox_app.repositories.deploy_dialog import DeployDialog
from inbox_app.repositories.page import RepositoryPage, spoken
from inbox_app.repositories.pane import RepositoriesPane
from inbox_app.repositories.tables import RepositoryTable
from inbox_app.section import Surroundings, Verb

if TYPE_CHECKING:
    from inbox_app.gateway.builds import BuildGateway
    from inbox_app.gateway.catalog import Catalog

LOOK_MS = 5_000
"""How often files and builds are looked at that somebody may have changed, while the section is shown."""


@dataclass(slots=True)
class _Known:
    """What is known of one repository's builds. ``logs`` by id of the build; ``live`` is the one that is followed."""

    builds: list[Build] = field(default_factory=list[Build])
    logs: dict[str, list[LogLine]] = field(default_factory=dict[str, list[LogLine]])
    live: str = ""
    busy: str = ""
    refusal: str = ""
    chosen: str = ""


class RepositoriesSection(ListSection[RepositoriesPane, RepositoryPage, RepositoryTable]):
    def __init__(self, around: Surroundings) -> None:
        pane, page = RepositoriesPane(around.theme), RepositoryPage(around.theme, around.go_to_run, around.clock)
        super().__init__(around, "repositories", pane, page, RepositoryTable(pane))
        self._known: dict[str, _Known] = {}
        self._is_listed = False
        self._acts = RepositoryActs(
            around.theme, around.window, self._catalog, around.spawn, around.memory, around.show_notice, self
        )
        self._acts.changed.connect(self._on_acted)
        self._pane.selected.connect(self._on_selected)
        self._pane.empty.followed.connect(self._on_empty_followed)
        self._page.reload_wanted.connect(self._reload)
        self._page.deploy_wanted.connect(self._ask_deploy)
        self._page.trust_wanted.connect(self._ask_trust)
        self._page.switched.connect(self._on_switched)
        self._page.build_chosen.connect(self._on_build_chosen)
        self._page.follow_wanted.connect(self._on_follow_wanted)
        self._looking = QTimer(self)
        self._looking.setInterval(LOOK_MS)
        self._looking.timeout.connect(self._on_look)

    @property
    def verbs(self) -> Mapping[str, Verb]:
        return {
            "repositories.open": Verb(self._acts.ask_open, self._can_open),
            "repositories.remove": Verb(self._ask_remove, self._is_shown),
            "repositories.reload": Verb(self._reload, self._can_build),
            "repositories.deploy": Verb(self._ask_deploy, self._can_build),
        }

    def shown(self) -> None:
        self._looking.start()
        self._look()

    def enter(self) -> None:
        self._page.enter()

    def close(self) -> None:
        self._looking.stop()

    # Reading

    @Slot()
    def _on_look(self) -> None:
        if self._is_visible:
            self._look()
        else:
            self._looking.stop()

    def _look(self) -> None:
        self._read()
        if self._page.path:
            self._around.spawn(self._look_at_builds(self._page.path), "builds")

    async def _look_at_builds(self, path: str) -> None:
        """Another process may have begun or ended some."""
        gateway, known = self._gateway, self._of(path)
        if gateway is None or known.busy:
            return
        try:
            found = await gateway.builds(path)
        except GatewayError:  # told when they are read for the first time
            return
        if not known.busy and list(found) != known.builds:
            await self._read_builds(path)

    async def _read_all(self) -> None:
        catalog = self._catalog()
        if catalog is None:
            return
        found = await catalog.repositories()
        self._is_listed = True
        self._table.put(found)
        self._pane.show_repositories(len(found))
        self._select()
        current = self._current
        if current is None:
            self._page.show_nothing()
        else:
            self._page.show_repository(current)
        self._around.changed()

    @Slot(str)
    def _on_selected(self, path: str) -> None:
        current = self._current
        if current is None:
            return
        self._page.show_repository(current)
        self._show(path)
        self._around.spawn(self._read_builds(path), "builds")
        self._around.changed()

    async def _read_builds(self, path: str) -> None:
        gateway = self._gateway
        if gateway is None:
            return
        known = self._of(path)
        try:
            found = await gateway.builds(path)
        except GatewayError as error:
            known.refusal = error.message
            found = known.builds
        before = {build.id: build for build in known.builds}
        live = before.get(known.live)
        for build in found:
            if build.id != known.live and build != before.get(build.id):
                known.logs.pop(build.id, None)
        known.builds = [live if live is not None and build.id == live.id else build for build in found]
        if live is not None and all(build.id != live.id for build in known.builds):
            known.builds.insert(0, live)
        if known.builds and known.chosen not in {build.id for build in known.builds}:
            known.chosen = known.builds[0].id
        self._show(path)
        if known.chosen:
            await self._read_log(path, known.chosen)

    async def _read_log(self, path: str, build_id: str) -> None:
        gateway, known = self._gateway, self._of(path)
        if gateway is None or build_id == known.live or build_id in known.logs:
            return
        try:
            whole = await gateway.build(build_id)
        except GatewayError as error:
            known.refusal = error.message
        else:
            known.logs[build_id] = list(whole.log)
        self._show(path)

    def _show(self, path: str) -> None:
        """What is known of the builds of a repository, if it is the one that is shown."""
        if path != self._page.path:
            return
        known = self._of(path)
        page = self._page
        page.show_acting(known.busy, known.refusal)
        page.show_builds(known.builds)
        build = next((build for build in known.builds if build.id == known.chosen), None)
        if build is not None:
            page.select_build(build.id)
            page.show_build(build, known.logs.get(build.id, ()), is_followed=bool(known.live))

    @Slot(str)
    def _on_build_chosen(self, build_id: str) -> None:
        path = self._page.path
        known = self._of(path)
        if build_id == known.chosen:
            return
        known.chosen = build_id
        self._show(path)
        self._around.spawn(self._read_log(path, build_id), "log of a build")

    # Doing

    def _can_build(self) -> bool:
        return bool(self._page.path) and self._gateway is not None and not self._of(self._page.path).busy

    @Slot()
    def _reload(self) -> None:
        gateway, path = self._gateway, self._page.path
        if gateway is not None and self._can_build():
            self._begin(path, partial(reload_repository, gateway, path), self.tr("Reloading"))

    @Slot()
    def _ask_deploy(self) -> None:
        if self._can_build():
            self._around.spawn(self._prepare_deploy(self._page.path), "deploy")

    async def _prepare_deploy(self, path: str) -> None:
        gateway, current = self._gateway, self._current
        if gateway is None or current is None:
            return
        try:
            target = await gateway.target(path)
        except GatewayError as error:
            self._refuse(path, error.message)
            return
        dialog = DeployDialog(self._around.theme, spoken(current), target, self._around.window)
        dialog.ordered.connect(self._on_ordered)
        dialog.open()

    @Slot(object)
    def _on_ordered(self, order: Deploy) -> None:
        gateway = self._gateway
        if gateway is not None and not self._of(order.repository).busy:
            self._begin(order.repository, partial(deploy_repository, gateway, order), self.tr("Deploying"))

    @Slot()
    def _on_follow_wanted(self) -> None:
        gateway, path = self._gateway, self._page.path
        known = self._of(path)
        if gateway is not None and not known.busy and known.chosen:
            known.logs.pop(known.chosen, None)
            self._begin(path, partial(follow_build, gateway, known.chosen), self.tr("Following the build"))

    def _begin(self, path: str, work: Callable[[Hear], Awaitable[str]], busy: str) -> None:
        known = self._of(path)
        known.busy, known.refusal = busy, ""
        self._show(path)
        self._around.changed()
        self._around.spawn(self._build(path, work), "build")

    async def _build(self, path: str, work: Callable[[Hear], Awaitable[str]]) -> None:
        known = self._of(path)
        try:
            known.refusal = await work(partial(self._hear, path, known))
            if known.refusal:  # what is kept of the log may be more than what came
                known.logs.pop(known.live, None)
        finally:
            known.busy, known.live = "", ""
        await self._read_builds(path)
        self._read()
        self._around.changed()

    def _hear(self, path: str, known: _Known, event: BuildEvent) -> None:
        if isinstance(event, Build):
            known.live = known.chosen = event.id
            if event.log:
                known.logs[event.id] = list(event.log)
            known.builds = _with(known.builds, replace(event, log=()))
            self._show(path)
            return
        known.logs.setdefault(known.live, []).append(event)
        if path == self._page.path and known.chosen == known.live:
            self._page.detail.add_lines([event])

    @Slot()
    def _ask_trust(self) -> None:
        if self._current is not None:
            self._acts.ask_trust(self._current)

    @Slot()
    def _ask_remove(self) -> None:
        if self._current is not None:
            self._acts.ask_remove(self._current)

    @Slot(str)
    def _on_acted(self, path: str) -> None:
        """A repository was opened or trusted, or (no path) removed."""
        self._wanted = path
        self._read()

    @Slot(str, bool)
    def _on_switched(self, tool: str, is_on: bool) -> None:
        self._around.spawn(self._switch(self._page.path, tool, is_on), "switch a tool")

    async def _switch(self, path: str, tool: str, is_on: bool) -> None:
        gateway = self._gateway
        if gateway is None:
            return
        refusal = await switch_tool(gateway, path, tool, is_on=is_on)
        if refusal:
            self._refuse(path, refusal)
        current = self._current
        if current is not None:
            self._page.switches.show_tools(current.builtins)  # as it was, until it is read again
        self._read()

    @Slot()
    def _on_empty_followed(self) -> None:
        """The list could not be read, or is empty."""
        if self._is_listed:
            self._acts.ask_open()
        else:
            self._pane.show_loading()
            self._read()

    def _is_shown(self) -> bool:
        return self._current is not None

    def _can_open(self) -> bool:
        return self._catalog() is not None

    def _refuse(self, path: str, why: str) -> None:
        self._of(path).refusal = why
        self._show(path)

    def _of(self, path: str) -> _Known:
        return self._known.setdefault(path, _Known())

    @property
    def _gateway(self) -> BuildGateway | None:
        gateway = self._around.gateway()
        return gateway.builds if gateway is not None else None

    def _catalog(self) -> Catalog | None:
        gateway = self._around.gateway()
        return gateway.catalog if gateway is not None else None

    @property
    def _current(self) -> Repository | None:
        row = self._pane.table.current_row
        return self._table.row(row) if row is not None else None


def _with(builds: Sequence[Build], build: Build) -> list[Build]:
    """The builds with one of them as it is now, a new one first."""
    if any(one.id == build.id for one in builds):
        return [build if one.id == build.id else one for one in builds]
    return [build, *builds]
