"""What an answerer decides on, as one digest (contract decision 23)."""

from __future__ import annotations

from typing import Final

from runtime_core.wire.json import JsonText, digest, loads

_KEYS: Final = (
    "question",
    "inputType",
    "options",
    "context",
    "allowEdits",
    "eligibleAnswerers",
    "excludeAnswerers",
    "schema",
    "quorum",
    "expiresAt",
    "timeoutMs",
    "onExpire",
)


def fingerprint(kind: str, spec: JsonText) -> str:
    """SHA-256 over question, kind, options, context, rules and deadline; ``spec`` is the text of an object."""
    asked = loads(spec)
    assert isinstance(asked, dict)
    return digest({"kind": kind, **{key: asked[key] for key in _KEYS if key in asked}})
