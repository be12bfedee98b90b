"""What a JSON Schema asks for, as far as a form can offer it; everything else is a field for JSON.

One level is read at a time, so that schemas which contain themselves are no problem.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, cast

from inbox_app.gateway import values
from inbox_app.gateway.base import Json

Kind: TypeAlias = Literal["text", "number", "yesno", "choice", "fixed", "null", "object", "list", "variants", "json"]
Rules: TypeAlias = Mapping[str, Any]

MOST_VARIANTS: Final = 30
LONG_TEXT: Final = 200
MOST_LOOKS: Final = 300
"""A schema that contains itself comes to an end."""
_HOPS: Final = 20
_LONG_FORMATS: Final = frozenset({"textarea", "markdown", "multiline"})
_TYPES: Final[dict[str, Kind]] = {
    "string": "text",
    "number": "number",
    "integer": "number",
    "boolean": "yesno",
    "null": "null",
    "object": "object",
    "array": "list",
}
_SIGNS: Final[dict[str, str]] = {
    "properties": "object",
    "required": "object",
    "additionalProperties": "object",
    "items": "array",
    "minItems": "array",
    "minLength": "string",
    "maxLength": "string",
    "pattern": "string",
    "minimum": "number",
    "maximum": "number",
}
"""Keywords that say what is meant where no type does."""


@dataclass(frozen=True, slots=True)
class Choice:
    value: Json
    label: str


@dataclass(frozen=True, slots=True)
class Shape:
    """One value. ``properties`` are schemas by name, ``extra`` that of more fields (None: no more are offered)."""

    kind: Kind
    title: str = ""
    about: str = ""
    default: str = ""
    """The default as JSON text, "" if there is none."""
    format: str = ""
    is_long: bool = False
    is_integer: bool = False
    choices: Sequence[Choice] = ()
    fixed: Json = None
    properties: Mapping[str, Rules] = field(default_factory=dict[str, Rules])
    required: frozenset[str] = frozenset()
    extra: Rules | None = None
    is_closed: bool = False
    items: Rules = field(default_factory=dict[str, Any])
    variants: Sequence[Variant] = ()


@dataclass(frozen=True, slots=True)
class Variant:
    label: str
    rules: Rules


class Schema:
    """A whole schema: what the references in it lead to."""

    def __init__(self, whole: Json) -> None:
        self.whole: Rules = cast("Rules", whole) if isinstance(whole, Mapping) else {}
        self._looks = self._steps = 0

    def shape(self, rules: Json) -> Shape:
        """What one part of it asks for."""
        self._steps = MOST_LOOKS
        known = self._resolved(rules)
        if known is None:
            return Shape("json")
        return self._shape(known)

    def fits(self, rules: Json, value: Json) -> bool:
        """Whether a value looks like what is meant, to tell variants apart; no check of everything.

        What takes too many looks, as schemas that contain themselves may, does not fit.
        """
        self._looks = MOST_LOOKS
        return self._fits(rules, value, 0)

    def _fits(self, rules: Json, value: Json, depth: int) -> bool:
        self._looks -= 1
        if self._looks < 0 or depth > _HOPS:
            return False
        shape = self.shape(rules)
        match shape.kind:
            case "text":
                return isinstance(value, str)
            case "number":
                return is_number(value) and (not shape.is_integer or isinstance(value, int))
            case "yesno":
                return isinstance(value, bool)
            case "null":
                return value is None
            case "choice":
                return any(_same(choice.value, value) for choice in shape.choices)
            case "fixed":
                return _same(shape.fixed, value)
            case "list":
                return isinstance(value, list)
            case "variants":
                return any(self._fits(variant.rules, value, depth + 1) for variant in shape.variants)
            case "object":
                return isinstance(value, dict) and self._holds(shape, cast("dict[str, Json]", value), depth)
            case "json":
                return True

    def _holds(self, shape: Shape, value: dict[str, Json], depth: int) -> bool:
        if not shape.required <= set(value):
            return False
        known = [name for name in value if name in shape.properties]
        if shape.is_closed and len(known) < len(value):
            return False
        return all(self._fits(shape.properties[name], value[name], depth + 1) for name in known)

    def _resolved(self, rules: Json, depth: int = 0) -> Rules | None:
        """The part with what it refers to put in its place; None for what no form can show."""
        for _ in range(_HOPS):
            self._steps -= 1
            if not isinstance(rules, Mapping) or self._steps < 0 or depth > _HOPS:
                return None
            known = cast("Rules", rules)
            if "$ref" in known:
                target = self._at(known["$ref"])
                if target is None:
                    return None
                title = {"title": _last(known["$ref"])} if "title" not in target and "title" not in known else {}
                rules = {**title, **target, **{key: part for key, part in known.items() if key != "$ref"}}
            elif "allOf" in known:
                rules = self._merged(known, depth + 1)
            else:
                return known
        return None

    def _at(self, reference: Json) -> Rules | None:
        if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
            return None
        found: Any = self.whole
        for step in reference[2:].split("/") if reference != "#" else ():
            name = step.replace("~1", "/").replace("~0", "~")
            if not isinstance(found, Mapping) or name not in found:
                return None
            found = cast("Rules", found)[name]
        return cast("Rules", found) if isinstance(found, Mapping) else None

    def _merged(self, rules: Rules, depth: int) -> Rules | None:
        """Objects that are to be met together as one; None if there is more to it than their fields."""
        given = rules["allOf"]
        parts = (
            [self._resolved(part, depth) for part in cast("list[Json]", given)] if isinstance(given, list) else [None]
        )
        rest = {key: part for key, part in rules.items() if key != "allOf"}
        merged: dict[str, Any] = {}
        for part in (*parts, rest):
            if part is None:
                return None
            for key, item in part.items():
                known: Any = merged.get(key)
                if key == "properties" and isinstance(item, Mapping) and isinstance(known, Mapping | None):
                    merged[key] = {**(known or {}), **item}
                elif key == "required" and isinstance(item, list) and isinstance(known, list | None):
                    merged[key] = [*(known or []), *item]
                elif key not in merged or known == item or key in ("title", "description"):
                    merged[key] = item
                else:
                    return None
        return merged

    def _shape(self, rules: Rules, depth: int = 0) -> Shape:
        words: dict[str, Any] = {
            "title": _text(rules.get("title")),
            "about": _text(rules.get("description")),
            "default": values.compact(rules["default"], 80) if "default" in rules else "",
        }
        if "const" in rules:
            return Shape("fixed", fixed=rules["const"], **words)
        if isinstance(rules.get("enum"), list):
            return Shape("choice", choices=_choices(rules["enum"]), **words)
        for key in ("oneOf", "anyOf"):
            if isinstance(rules.get(key), list):
                return self._several(rules, key, words, depth)
        kind = rules.get("type") or next((meant for sign, meant in _SIGNS.items() if sign in rules), None)
        if isinstance(kind, list):
            names = cast("list[Any]", kind)
            if len(names) == 1:
                return self._shape({**rules, "type": names[0]})
            plain = {name: part for name, part in rules.items() if name not in ("title", "description", "default")}
            variants = [Variant(str(name), {**plain, "type": name}) for name in names]
            return Shape("variants", variants=variants, **words)
        return self._typed(_text(kind), rules, words)

    def _typed(self, kind: str, rules: Rules, words: dict[str, Any]) -> Shape:
        match _TYPES.get(kind):
            case "text":
                most = rules.get("maxLength")
                form = _text(rules.get("format"))
                is_long = form in _LONG_FORMATS or "contentMediaType" in rules
                is_long = is_long or (isinstance(most, int | float) and most > LONG_TEXT)
                return Shape("text", format=form, is_long=is_long, **words)
            case "number":
                return Shape("number", is_integer=kind == "integer", **words)
            case "list" if isinstance(rules.get("items", {}), Mapping) and "prefixItems" not in rules:
                return Shape("list", items=rules.get("items", {}), **words)
            case "object":
                return _object(rules, words)
            case "yesno":
                return Shape("yesno", **words)
            case "null":
                return Shape("null", **words)
            case _:
                return Shape("json", **words)

    def _several(self, rules: Rules, key: str, words: dict[str, Any], depth: int) -> Shape:
        given = cast("list[Json]", rules[key])
        base = {name: part for name, part in rules.items() if name not in (key, "title", "description", "default")}
        resolved = [self._resolved(one) for one in given]
        parts = [{**base, **part} if part is not None else None for part in resolved]
        if not parts or len(parts) > MOST_VARIANTS or None in parts or depth > _HOPS:
            return Shape("json", **words)
        known = cast("list[Rules]", parts)
        if all("const" in part for part in known):
            choices = [Choice(part["const"], _text(part.get("title")) or label(part["const"])) for part in known]
            return Shape("choice", choices=choices, **words)
        if len(known) == 1:
            own = {name: rules[name] for name in ("title", "description", "default") if name in rules}
            return self._shape({**known[0], **own}, depth + 1)
        names = [_name_of(part) for part in known]
        labels = [f"{name} {at + 1}" if names.count(name) > 1 else name for at, name in enumerate(names)]
        return Shape("variants", variants=list(map(Variant, labels, known)), **words)


def is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def label(value: Json) -> str:
    """A value as a choice is called: texts without quotes, unless they read like another value."""
    if isinstance(value, str) and value:
        try:
            values.parse(value)
        except values.BadJsonError:
            return value
    return values.compact(value, 80)


def _object(rules: Rules, words: dict[str, Any]) -> Shape:
    given: Any = rules.get("properties")
    properties: dict[str, Rules] = (
        {name: part if isinstance(part, Mapping) else {} for name, part in cast("Mapping[str, Any]", given).items()}
        if isinstance(given, Mapping)
        else {}
    )
    names = cast("list[Any]", rules["required"]) if isinstance(rules.get("required"), list) else []
    required = frozenset(name for name in names if isinstance(name, str))
    properties |= {name: {} for name in names if isinstance(name, str) and name not in properties}
    more: Any = rules.get("additionalProperties", not properties or "patternProperties" in rules)
    free: Rules | None = {} if more is True else None
    extra = cast("Rules", more) if isinstance(more, Mapping) else free
    is_closed = rules.get("additionalProperties") is False
    return Shape("object", properties=properties, required=required, extra=extra, is_closed=is_closed, **words)


def _choices(given: Sequence[Json]) -> Sequence[Choice]:
    return [Choice(value, label(value)) for value in given]


def _name_of(rules: Rules) -> str:
    """What a variant is called: its title, the word that sets it apart, or its type."""
    if title := _text(rules.get("title")):
        return title
    if "const" in rules:
        return label(rules["const"])
    properties = rules.get("properties")
    if isinstance(properties, Mapping):
        for part in cast("Mapping[str, Any]", properties).values():
            if isinstance(part, Mapping) and "const" in part:
                return label(cast("Rules", part)["const"])
    return _text(rules.get("type")) or "JSON"


def _last(reference: Json) -> str:
    return str(reference).rpartition("/")[2].lstrip("#")


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _same(one: Json, other: Json) -> bool:
    return values.canonical(one) == values.canonical(other)
