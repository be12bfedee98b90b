"""Error codes of the contract and the one exception that carries them to a caller."""

from __future__ import annotations

from typing import Any, Final


class RuntimeFault(Exception):  # noqa: N818
    """A refusal with a code of the contract (decisions 3, 4, section 6), a sentence that names what and what to do.

    Ours beside the contract's: ``data_folder_unusable`` and ``data_folder_busy``. ``details`` as in decision 4.
    """

    def __init__(self, code: str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details

    @property
    def is_storage(self) -> bool:
        """Whether the data folder does not do its work: no call failed then, whatever was going on stops."""
        return self.code.startswith("data_folder")


def no_session(run_id: str) -> RuntimeFault:
    return RuntimeFault(
        "NOT_FOUND", f"There is no session {run_id}. See the ids there are with: operator-inbox list --runs"
    )


COMMAND_CODES: Final = ("untrusted", "exec-disabled", "exec-unavailable", "invalid-params")
"""``code`` of what ``ctx.exec`` throws (contract decision 28); a command that fails throws nothing."""

COMPOSITE_CODES: Final = (
    "depth-exceeded",
    "undeclared",
    "unknown-tool",
    "confirmation-unsupported",
    "invalid-params",
    "execution-failed",
    "subagent-undeclared",
    "subagent-unknown",
    "subagent-failed",
)
"""``CompositeCallError.code`` values (contract section 4)."""
