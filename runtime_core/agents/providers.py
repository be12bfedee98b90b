"""The providers of models that are known, and what names one of their models (contract 1.2, 10)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final, Literal
from urllib.parse import SplitResult

from runtime_core.agents.turns import ModelUnusable
from runtime_core.connections.addresses import AddressRefused, base_of
from runtime_core.repo.references import ENV

SCRIPTED: Final = "scripted"
Protocol = Literal["anthropic", "google", "openai", "responses"]
"""``openai`` is that of chat completions, which everybody else speaks too. OpenAI itself is asked in its newer one, of
responses: only there do its models get their reasoning back between two tool calls, and some answer nowhere else."""

_IMAGES: Final = ("image/jpeg", "image/png", "image/gif", "image/webp")
_PDF: Final = "application/pdf"
_SPEC: Final = re.compile(r"(?P<provider>[^:@\s]+):(?P<model>\S+?)(?:@(?P<base_url>https?://\S*))?")
_ADDRESS: Final = re.compile(r"://|:\d|^localhost\b|^\[|^\d+(\.\d+){3}\b|/v\d")
"""What shows that something after an @ is meant as an address, although no http:// stands before it."""
_WITH_USER: Final = re.compile(r"https?://[^/?#]*@")
LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
_WRITE_SPEC: Final = (
    "Write provider:model, for example anthropic:claude-sonnet-4-5 or openai:NAME@http://localhost:11434/v1, "
    "or scripted:FILE.json."
)
_TEXTS: Final = ("application/json", "application/xml", "application/yaml", "application/x-yaml", "application/toml")


def bare(mime_type: str) -> str:
    """The type alone, without its parameters."""
    return mime_type.partition(";")[0].strip().lower()


def is_text(mime_type: str) -> bool:
    """Whether a file of this bare type can be shown to any model, as text."""
    return mime_type.startswith("text/") or mime_type in _TEXTS or mime_type.endswith(("+json", "+xml"))


@dataclass(frozen=True, slots=True)
class Provider:
    """``media``: types of files, beside text, that its models are shown; ``image/*`` stands for all of a kind.
    ``needs_key`` False: it answers without one.
    """

    base_url: str
    protocol: Protocol = "openai"
    media: tuple[str, ...] = _IMAGES
    needs_key: bool = True

    def takes(self, mime_type: str) -> bool:
        """Of a bare type."""
        return is_text(mime_type) or any(fnmatchcase(mime_type, kind) for kind in self.media)


PROVIDERS: Final[Mapping[str, Provider]] = {
    "anthropic": Provider("https://api.anthropic.com", "anthropic", (*_IMAGES, _PDF)),
    "openai": Provider("https://api.openai.com/v1", "responses", (*_IMAGES, _PDF)),
    "google": Provider("https://generativelanguage.googleapis.com", "google", ("image/*", "audio/*", "video/*", _PDF)),
    "cerebras": Provider("https://api.cerebras.ai/v1", media=()),
    "deepseek": Provider("https://api.deepseek.com", media=()),
    "fireworks": Provider("https://api.fireworks.ai/inference/v1"),
    "groq": Provider("https://api.groq.com/openai/v1"),
    "mistral": Provider("https://api.mistral.ai/v1"),
    "ollama": Provider("http://localhost:11434/v1", needs_key=False),
    "openrouter": Provider("https://openrouter.ai/api/v1", media=(*_IMAGES, _PDF)),
    "together": Provider("https://api.together.xyz/v1"),
    "xai": Provider("https://api.x.ai/v1"),
}
_ELSEWHERE: Final = (
    'A server that speaks the protocol of OpenAI, a local one too, is used as provider "openai" with its baseUrl.'
)


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model as somebody names it. ``credentials``: ``env:NAME`` of its key; ``named_in``: where it is named.

    ``is_personal``: the person who runs the program named it, not a repository.
    """

    provider: str
    model: str
    named_in: str
    base_url: str | None = None
    credentials: str | None = None
    is_personal: bool = False

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}" + (f"@{self.base_url}" if self.base_url is not None else "")

    @property
    def service(self) -> Provider:
        """Who answers: somewhere else than at the provider itself, PDF files are not shown, and no key is needed."""
        known = PROVIDERS[self.provider]
        if self.base_url is None:
            return known
        is_openai = known.protocol in ("openai", "responses")
        media = tuple(one for one in known.media if one != _PDF) if is_openai else known.media
        return Provider(self.base_url, "openai" if is_openai else known.protocol, media, needs_key=False)

    @property
    def key(self) -> str | None:
        """The name under which its key is looked up; None: it is sent none.

        The key of a provider goes to another address only if the person who runs the program wrote that address, or if
        the repository names the key there, which ``check`` shows.
        """
        if self.credentials is not None:
            return self.credentials.removeprefix(ENV)
        if self.base_url is not None and not self.is_personal:
            return None
        return f"{self.provider.upper()}_API_KEY"

    @property
    def wants_key(self) -> bool:
        """Whether it cannot be asked without a key."""
        return self.credentials is not None or self.service.needs_key


def read_spec(text: str, named_in: str) -> ModelSpec:
    """The model of ``provider:model`` or ``provider:model@BASE_URL``. Raises `ModelUnusable`."""
    found = _SPEC.fullmatch(text)
    if found is None:
        raise ModelUnusable(f"{named_in}: {text!r} names no model. {_WRITE_SPEC}")
    name, at, address = found["model"].rpartition("@")
    if name and at and _ADDRESS.search(address):
        raise ModelUnusable(f"{named_in}: the address {address!r} has to begin with http:// or https://. {_WRITE_SPEC}")
    spec = ModelSpec(found["provider"], found["model"], named_in, found["base_url"], is_personal=True)
    check(spec)
    return spec


def check(spec: ModelSpec) -> None:
    """Raises `ModelUnusable` if its provider is not known or its address is none; a reference is not looked up."""
    if spec.provider == "bedrock":
        raise ModelUnusable(
            f'{spec.named_in}: the provider "bedrock" is not spoken here. Name the provider of the model itself, such '
            f'as "anthropic", or a gateway in front of it. {_ELSEWHERE}'
        )
    if spec.provider not in PROVIDERS:
        known = ", ".join((*PROVIDERS, SCRIPTED))
        raise ModelUnusable(f'{spec.named_in}: there is no provider "{spec.provider}". Known are {known}. {_ELSEWHERE}')
    if spec.base_url is not None and not spec.base_url.startswith(ENV):
        address_of(spec.base_url, spec.named_in)


def address_of(base_url: str, named_in: str) -> SplitResult:
    """Raises `ModelUnusable`, without the address, which may hold a key."""
    if _WITH_USER.match(base_url):
        words = "it contains a user or a password. Leave them out; the key is looked up under its name"
        raise ModelUnusable(f"{named_in}: its address cannot be used: {words}.")
    try:
        address = base_of(base_url)
    except AddressRefused as refused:
        raise ModelUnusable(f"{named_in}: its address cannot be used: {refused}.") from None
    if "?" in base_url:
        words = "it contains a query (?). Leave that out; a key in it is looked up under its name instead"
        raise ModelUnusable(f"{named_in}: its address cannot be used: {words}.")
    return address


def is_private_way(address: SplitResult) -> bool:
    """Whether nobody on the way to it reads a key."""
    return address.scheme == "https" or address.hostname in LOOPBACK
