"""What went wrong at a provider, as a `ModelError` that a person can act on."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelTimeoutError,
    UnexpectedModelBehavior,
    UserError,
)

from runtime_core.agents.providers import LOOPBACK
from runtime_core.agents.turns import ModelError
from runtime_core.connections.masking import masked

if TYPE_CHECKING:
    from runtime_core.agents.providers import ModelSpec

_SHOWN: Final = 500
_RETRY_AFTER_S: Final = 5.0
"""A provider that wants to be left alone for longer is not asked again."""
_LIMIT_OF_OUTPUT: Final = re.compile(r"max_?(completion_?|output_?)?tokens", re.I)


def is_about_limit(error: Exception) -> bool:
    """Whether a request was refused for the limit of its output, or might have been."""
    if not isinstance(error, ModelHTTPError) or error.status_code not in (400, 422):
        return False
    return isinstance(error, ModelContextWindowExceededError) or _LIMIT_OF_OUTPUT.search(_said(error)) is not None


def retry_in(error: Exception, default_s: float) -> float | None:
    """In how many seconds it is worth to ask once more; None if it is not."""
    if isinstance(error, ModelHTTPError):
        wait_s = error.retry_after
        if error.status_code < 500 and (error.status_code != 429 or wait_s is None):
            return None
        if isinstance(error, ModelQuotaExceededError):
            return None
        wait_s = default_s if wait_s is None else wait_s
        return wait_s if wait_s <= _RETRY_AFTER_S else None
    is_cut = isinstance(error, ModelConnectionError) and not isinstance(error, ModelTimeoutError)
    return default_s if is_cut else None


def missing_key(spec: ModelSpec, name: str, trouble: str | None) -> ModelError:
    """``trouble``: why nobody knows whether there is one."""
    why = f"there is no {name}. {_store(name)}" if trouble is None else f"{name} is not in the environment. {trouble}"
    return ModelError("bad_key", f"{spec} cannot be asked: {why}")


def unfit_key(spec: ModelSpec, name: str) -> ModelError:
    what = f"{name} holds a space, a line break or another character that cannot be sent in a key"
    return ModelError("bad_key", f"{spec} cannot be asked: {what}. {_store(name)}")


def told(error: Exception, spec: ModelSpec, key: str | None) -> ModelError:
    """The same failure in words, without the key wherever it is spelled."""
    found = _told(error, spec, is_key_sent=key is not None)
    message = masked(found.message, [key] if key else [])
    if not message.endswith((".", "!", "?", "…")):
        message = f"{message}."
    return ModelError(found.code, message, retry_after_s=found.retry_after_s)


def _told(error: Exception, spec: ModelSpec, *, is_key_sent: bool) -> ModelError:
    if isinstance(error, ModelHTTPError):
        return _answered(error, spec, is_key_sent=is_key_sent)
    if isinstance(error, ModelTimeoutError | TimeoutError):
        return ModelError("unavailable", f"{spec} did not answer in time. Try again later.")
    if isinstance(error, ModelConnectionError):
        return ModelError("unavailable", f"{spec} cannot be reached: {_reason(error)}. {_check_way(spec)}")
    if isinstance(error, ModelAPIError):
        moved = _redirect(error)
        if moved is not None:
            message = f"{spec} is not where it was asked but at {moved}, and no key follows there. Correct the address"
            return ModelError("refused", f"{message} in {spec.named_in}.")
        return ModelError("unavailable", f"{spec} failed: {_said(error) or 'it does not say why'}")
    if isinstance(error, UserError):
        return ModelError("refused", f"{spec} cannot be asked this: {_short(str(error))}")
    if isinstance(error, UnexpectedModelBehavior):
        return ModelError("unavailable", f"{spec} gave an answer that is none: {_short(str(error))}")
    return ModelError(
        "unavailable",
        f"{spec} gave an answer that cannot be read ({type(error).__name__}: {_short(str(error))}). {_check_way(spec)}",
    )


def _answered(error: ModelHTTPError, spec: ModelSpec, *, is_key_sent: bool) -> ModelError:
    status = error.status_code
    said = f"{_said(error) or 'no reason given'} ({status})"
    if isinstance(error, ModelQuotaExceededError):
        return ModelError("rate_limited", f"{spec}: what the account may use is used up: {said}")
    if status in (401, 403) or "API_KEY_INVALID" in str(error.body):
        return ModelError("bad_key", f"{spec} refused the key: {said}. {_about_key(spec, is_key_sent=is_key_sent)}")
    if status == 429:
        wait = error.retry_after
        when = f"in {wait:.0f} s" if wait is not None else "later"
        return ModelError("rate_limited", f"{spec} is asked too much: {said}. Try again {when}.", retry_after_s=wait)
    if status >= 500 or status == 408:
        return ModelError("unavailable", f"{spec} is not available: {said}.", retry_after_s=error.retry_after)
    if status == 404:
        remedy = f"Correct its name or its address in {spec.named_in}."
        return ModelError("refused", f"{spec} is not known there: {said}. {remedy}")
    if isinstance(error, ModelContextWindowExceededError) or status == 413:
        remedy = "Start a new conversation, or give it less to read."
        return ModelError("refused", f"{spec}: the conversation is too long for this model: {said}. {remedy}")
    return ModelError("refused", f"{spec} refused the request: {said}.")


def _about_key(spec: ModelSpec, *, is_key_sent: bool) -> str:
    if spec.key is None:
        return _NO_KEY_SENT.format(spec.named_in)
    if is_key_sent:
        return f"Check the key {spec.key}. {_store(spec.key)}"
    if spec.base_url is not None and spec.base_url.startswith("http://"):
        return f"None was sent: it would go through the network in plain sight. Use https:// in {spec.named_in}."
    return f"None was sent: there is no {spec.key}. {_store(spec.key)}"


_NO_KEY_SENT: Final = (
    "None was sent: a provider's own key goes to no other address that a repository names. Name the key for this one "
    'as "credentials": "env:NAME" in {}.'
)


def _store(name: str | None) -> str:
    return f"Store it with: operator-inbox secret set {name}, or set {name} in the environment."


def _check_way(spec: ModelSpec) -> str:
    if spec.base_url is None:
        is_here = urlsplit(spec.service.base_url).hostname in LOOPBACK
        return f"Check that {spec.provider} runs on this computer." if is_here else "Check the network."
    return f"Check that the server runs and that its address in {spec.named_in} is right."


def _said(error: ModelAPIError) -> str:
    """The message in the answer; that of the libraries repeats the whole answer."""
    body: Any = error.body
    for _ in range(3):
        if isinstance(body, list) and body:
            body = cast("list[Any]", body)[0]
        if not isinstance(body, Mapping):
            break
        parts = cast("Mapping[str, Any]", body)
        body = parts.get("error") or parts.get("message") or parts.get("detail")
    if isinstance(body, str) and body.strip():
        return _short(body).rstrip(".")
    return "" if isinstance(error, ModelHTTPError) else _short(str(error))


def _redirect(error: ModelAPIError) -> str | None:
    response = getattr(error.__cause__, "response", None)
    status = getattr(response, "status_code", 0)
    if not 300 <= status < 400 or response is None:
        return None
    return str(response.headers.get("location", "another address"))


def _reason(error: ModelConnectionError) -> str:
    """What the system says, which the libraries hide behind "Connection error."."""
    cause: BaseException | None = error
    last = ""
    while cause is not None:
        if isinstance(cause, OSError) and cause.strerror:
            return os.strerror(cause.errno or 0) if isinstance(cause, ConnectionError) else cause.strerror
        last = _short(str(cause)).rstrip(".") or last
        inner = (
            cast("BaseExceptionGroup[BaseException]", cause).exceptions if isinstance(cause, BaseExceptionGroup) else ()
        )
        cause = inner[0] if inner else cause.__cause__ or cause.__context__
    return last


def _short(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _SHOWN else f"{plain[:_SHOWN]}…"
