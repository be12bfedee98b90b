"""What an automation says to an agent, as a conversation in which nobody is there to be asked."""

from __future__ import annotations

from runtime_core.automations.starting import Began, Prompt
from runtime_core.chat.chats import ChatRequest, Chats
from runtime_core.chat.turn import INTERRUPTED


async def have_turn(chats: Chats, prompt: Prompt, began: Began) -> str | None:
    """As `Talk`. Raises as `Chats.send`."""
    request = ChatRequest(
        message=prompt.text,
        who=prompt.who,
        root=prompt.root,
        agent=prompt.agent,
        scope=prompt.scope,
        source="automation",
        human_present=False,
    )
    problem, reason = "", ""
    async for told in chats.send(request):
        match told["type"]:
            case "init":
                await began(told["session_id"])
            case "error":
                problem = str(told.get("message", ""))
            case "done":
                reason = str(told.get("reason", ""))
            case _:
                pass
    if reason == INTERRUPTED:
        return None
    return problem or ("" if reason == "model_stop" else _ENDS.get(reason, f"It ended: {reason or 'unknown'}."))


_ENDS = {
    "max_turns": "The agent used up its turns.",
    "budget_exceeded": "The agent used up its tokens.",
    "loop_detected": "The agent repeated itself and was stopped.",
    "user_abort": "It was stopped.",
}
