"""The list of a section, while it is read and when it cannot be."""

from __future__ import annotations

from inbox_app.widgets.list_pane import ListPane


class SectionPane(ListPane):
    """Its words are set once, with `name_all` and `name_states`."""

    def name_states(self, icon: str, reading: str, unreadable: str) -> None:
        """The icon and the words while it is read, and the heading when it cannot be."""
        self._icon, self._reading, self._unreadable = icon, reading, unreadable
        self.show_loading()

    def show_loading(self) -> None:
        self.show_count("")
        self.empty.show_text(self._icon, self._reading, "")
        self.show_footer("")
        self.show_table(False)

    def show_problem(self, text: str) -> None:
        self.empty.show_text("triangle-alert", self._unreadable, text, self.tr("Try again"), "failed")
        self.show_table(False)
