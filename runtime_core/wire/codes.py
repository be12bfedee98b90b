"""Error codes of the contract and the one exception that carries them to a caller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

HTTP_STATUS: Final[Mapping[str, int]] = {
    "VALIDATION_ERROR": 400,
    "edits_not_allowed": 400,
    "edits_invalid": 400,
    "tool_not_durable": 400,
    "unauthenticated": 401,
    "answerer_not_allowed": 403,
    "tool_not_invocable": 403,
    "NOT_FOUND": 404,
    "tool_not_found": 404,
    "not_awaiting_input": 409,
    "pause_superseded": 409,
    "pause_expired": 409,
    "run_cancelled": 409,
    "content_changed": 409,
    "idempotency_mismatch": 422,
    "INTERNAL_ERROR": 500,
    "data_folder_unusable": 500,
    "data_folder_busy": 503,
}
"""Code -> HTTP status (contract decisions 3 and 4, sections 6.2 and 6.4)."""


class RuntimeFault(Exception):  # noqa: N818
    """A refusal with a code of the contract, a sentence that names what and what to do, and details.

    ``envelope()`` is the error body of contract decision 4.
    """

    def __init__(self, code: str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details

    @property
    def status(self) -> int:
        return HTTP_STATUS.get(self.code, 500)

    def envelope(self) -> dict[str, Any]:
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.details:
            error["details"] = self.details
        return {"error": error}


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
