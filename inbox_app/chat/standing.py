"""Where nothing can be said: why, and what to do."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication

from inbox_app.chat.partners import Partner
from inbox_app.chat.talk import Talk
from inbox_app.gateway.catalog import Repository
from inbox_app.widgets.hidden_text import reveal

translate = QCoreApplication.translate


def why_empty(repositories: Sequence[Repository] | None, problem: str) -> tuple[str, str, str, str]:
    """Why there is nobody to talk to: icon, heading, sentence, link. ``repositories`` None: they were not read yet."""
    again = translate("chat", "Look again")
    if problem:
        return "triangle-alert", translate("chat", "The agents could not be read"), problem, again
    if repositories is None:
        return "message-square", translate("chat", "Looking for agents"), "", ""
    broken = next((one for one in repositories if one.broken), None)
    if broken is not None:
        words = ": ".join((broken.path, *broken.problems[:1]))
        return "triangle-alert", translate("chat", "The repository cannot be used"), reveal(words), again
    if repositories:
        words = translate("chat", "{0} has no agent: an agent has a folder under agents/.").format(repositories[0].path)
        return "message-square", translate("chat", "No agent to talk to"), reveal(words), again
    words = translate("chat", "Open the folder of a repository. Its agents are listed here then.")
    return "message-square", translate("chat", "No repository is open"), words, translate("chat", "Open a repository")


def deleted() -> tuple[str, str, str, str]:
    """A conversation that is there no more: icon, heading, sentence, link."""
    heading = translate("chat", "This conversation was deleted")
    words = translate("chat", "It was deleted elsewhere. What is written below is kept for a new conversation.")
    return "circle-x", heading, words, translate("chat", "Begin a new conversation")


def why_closed(talk: Talk, partner: Partner | None) -> str:
    """Why nothing can be said in a conversation now; "" if something can, or its agent is at work here."""
    if talk.is_running:
        return ""
    if talk.is_deleted:
        return translate("chat", "This conversation was deleted. Ctrl+N begins a new one with what is written here.")
    if talk.is_busy_elsewhere:
        return translate("chat", "The agent is at work in this conversation, which goes on elsewhere.")
    if partner is None:
        words = translate("chat", "The agent “{0}” is not open here. Open {1} under Repositories to go on.")
        return reveal(words.format(talk.agent, talk.repository))
    return ""


def remark_on(partner: Partner | None) -> str:
    """What to know before something is said; without a model the triggers of the repository still answer."""
    if partner is None or partner.agent.model:
        return ""
    words = translate("chat", "{0} has no model. Set models.main in amodal.json, or in the settings and start again.")
    return reveal(words.format(partner.name))
