"""Opening, removing and trusting repositories: asked, done, and remembered."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, cast

from PySide6.QtCore import QCoreApplication, QObject, Signal, Slot
from PySide6.QtWidgets import QFileDialog, QWidget

from inbox_app.gateway.base import GatewayError
from inbox_app.gateway.catalog import Catalog, Repository
from inbox_app.state import repositories as opened
from inbox_app.state.memory import Memory
from inbox_app.theme.theme import Theme
from inbox_app.widgets.dialogs import ConfirmDialog
from inbox_app.widgets.hidden_text import reveal


async def open_repository(catalog: Catalog, path: str) -> Repository | GatewayError:
    try:
        return await catalog.open_repository(path)
    except GatewayError as error:
        return error


async def remove_repository(catalog: Catalog, path: str) -> str:
    """Returns the sentence of a refusal, empty if it is listed no longer."""
    try:
        await catalog.remove_repository(path)
    except GatewayError as error:
        return "" if error.code == "NOT_FOUND" else error.message
    return ""


async def trust_repository(catalog: Catalog, shown: Repository) -> str:
    """Trust a repository as it was shown. Returns the sentence of a refusal, or ""."""
    try:
        await catalog.trust(shown)
    except GatewayError as error:
        if error.code == "content_changed":
            return QCoreApplication.translate(
                "commands", "Its code has changed. Read what it needs now, then trust it."
            )
        return error.message
    return ""


class RepositoryActs(QObject):
    """``changed`` carries the path of what was opened or trusted, "" after a removal."""

    changed = Signal(str)

    def __init__(
        self,
        theme: Theme,
        window: QWidget,
        catalog: Callable[[], Catalog | None],
        spawn: Callable[[Coroutine[Any, Any, None], str], object],
        memory: Memory,
        show_notice: Callable[[str, str], None],
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._window = window
        self._catalog = catalog
        self._spawn = spawn
        self._memory = memory
        self._show_notice = show_notice

    def ask_open(self) -> None:
        dialog = QFileDialog(self._window, self.tr("Open repository"))
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.fileSelected.connect(self.open)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    @Slot(str)
    def open(self, path: str) -> None:
        """Open the repository in a folder, and remember it."""
        catalog = self._catalog()
        if catalog is not None and path:
            self._spawn(self._open(catalog, path), "open a repository")

    def ask_remove(self, repository: Repository) -> None:
        words = self.tr(
            "“{0}” is listed no longer, and not opened at the next start. Its files stay, and so do its runs."
        )
        dialog = ConfirmDialog(
            self._theme,
            self.tr("Remove this repository from the list?"),
            words.format(reveal(repository.name)),
            self.tr("Remove"),
            self.tr("Keep it"),
            self._window,
        )
        dialog.setProperty("path", repository.path)
        dialog.confirmed.connect(self._on_remove_confirmed)
        dialog.open()

    def ask_trust(self, repository: Repository) -> None:
        """Ask about all that it needs, word for word."""
        words = self.tr("The code of “{0}”, as it is now, may do this then:\n\n{1}")
        needs = "\n".join(f"• {need}" for need in repository.needs)
        dialog = ConfirmDialog(
            self._theme,
            self.tr("Trust this repository?"),
            reveal(words.format(repository.name, needs)),
            self.tr("Trust it"),
            self.tr("Do not trust it"),
            self._window,
        )
        dialog.setProperty("shown", repository)
        dialog.confirmed.connect(self._on_trust_confirmed)
        dialog.open()

    async def _open(self, catalog: Catalog, path: str) -> None:
        reply = await open_repository(catalog, path)
        if isinstance(reply, GatewayError):
            self._show_notice(self.tr("The folder was not opened."), reveal(reply.message))
            return
        opened.remember(self._memory, reply.path)
        self.changed.emit(reply.path)

    async def _remove(self, catalog: Catalog, path: str) -> None:
        refusal = await remove_repository(catalog, path)
        if refusal:
            self._show_notice(self.tr("The repository was not removed."), reveal(refusal))
            return
        opened.forget(self._memory, path)
        self.changed.emit("")

    async def _trust(self, catalog: Catalog, shown: Repository) -> None:
        refusal = await trust_repository(catalog, shown)
        if refusal:
            self._show_notice(self.tr("The repository was not trusted."), reveal(refusal))
        self.changed.emit(shown.path)

    @Slot()
    def _on_remove_confirmed(self) -> None:
        dialog, catalog = self.sender(), self._catalog()
        if catalog is not None:
            self._spawn(self._remove(catalog, str(dialog.property("path"))), "remove a repository")

    @Slot()
    def _on_trust_confirmed(self) -> None:
        dialog, catalog = self.sender(), self._catalog()
        if catalog is not None:
            self._spawn(self._trust(catalog, cast("Repository", dialog.property("shown"))), "trust a repository")
