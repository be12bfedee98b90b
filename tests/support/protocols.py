"""The protocols of providers from their side: what a request asks, and the events of a reply.

What a real provider refuses is refused here too: calls without results, empty texts, names that do not fit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from runtime_core.agents.turns import File, Message, Reply, ToolCall

SIGNATURE = "c2lnbmVkIHRob3VnaHRz"
_TOOL = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_FILE = re.compile(r'File "(.*)" \(([^()]*)\):')
_PIECE = 9


class Refused(Exception):  # noqa: N818
    """400, with these words."""


@dataclass(frozen=True)
class Asked:
    """What a request asks. The messages are what a script looks at: texts and results, no files."""

    prompt: str
    messages: Sequence[Message]


class Spoken(Protocol):
    """One protocol. ``reply``: the events of the stream, one by one, as they are sent."""

    def read(self, body: Any) -> Asked: ...
    def reply(self, reply: Reply, number: int, model: str, thinking: str) -> Iterator[bytes]: ...
    def error(self, status: int, message: str) -> Any: ...


def _pieces(text: str) -> Iterator[str]:
    return (text[at : at + _PIECE] for at in range(0, len(text), _PIECE))


def _event(data: Mapping[str, Any], name: str = "") -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()


def _check(is_right: bool, words: str) -> None:
    if not is_right:
        raise Refused(words)


def _check_tool(name: str, schema: Any) -> None:
    _check(_TOOL.fullmatch(name) is not None, f"tools: {name!r} does not match {_TOOL.pattern}")
    _check(isinstance(schema, dict) and schema.get("type") == "object", f"tools: the schema of {name} is no object")


def _texts(content: Any) -> Sequence[str]:
    return [content] if isinstance(content, str) else [part["text"] for part in content if "text" in part]


def _text_of(content: Any) -> str:
    return "\n".join(_texts(content))


def _said(texts: Sequence[str]) -> Message:
    """What a person said; the texts that introduce files stand for these."""
    plain: list[str] = []
    files: list[File] = []
    for text in texts:
        found = _FILE.match(text)
        if found is None:
            plain.append(text)
        elif ": left out" not in text[found.end() - 1 :][:10]:
            files.append(File(found[1], found[2], ""))
    return Message("user", "\n".join(plain), files=files)


def _arguments(call: ToolCall) -> str:
    return call.args or "{}"


class AnthropicMessages:
    """``POST /v1/messages``."""

    def read(self, body: Any) -> Asked:
        _check(isinstance(body.get("max_tokens"), int), "max_tokens: Field required")
        for tool in body.get("tools", []):
            _check_tool(tool["name"], tool["input_schema"])
        system = body.get("system", "")
        told: list[Message] = []
        waiting: dict[str, ToolCall] = {}
        for message in body["messages"]:
            content = message["content"]
            parts: list[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else content
            _check(bool(parts), "messages: content must not be empty")
            answered = [part for part in parts if part["type"] == "tool_result"]
            missing = set(waiting) - {part["tool_use_id"] for part in answered}
            _check(not missing, f"tool_use ids were found without tool_result blocks immediately after: {missing}")
            for part in answered:
                _check(part["tool_use_id"] in waiting, "unexpected tool_use_id found in tool_result blocks")
                told.append(Message("tool", _text_of(part["content"]), call=waiting.pop(part["tool_use_id"])))
            texts = [part["text"] for part in parts if part["type"] == "text"]
            _check(all(text.strip() for text in texts), "messages: text content blocks must be non-empty")
            if message["role"] == "assistant":
                calls = [part for part in parts if part["type"] == "tool_use"]
                waiting = {part["id"]: ToolCall(part["name"], json.dumps(part["input"]), part["id"]) for part in calls}
                told.append(Message("assistant", "\n".join(texts), tuple(waiting.values())))
            elif texts or not answered:
                told.append(_said(texts))
        return Asked(_text_of(system), told)

    def reply(self, reply: Reply, number: int, model: str, thinking: str) -> Iterator[bytes]:
        used = reply.usage
        usage = {
            "input_tokens": max(used.input_tokens - used.cached_tokens - used.cache_creation_tokens, 0),
            "output_tokens": 1,
            "cache_read_input_tokens": used.cached_tokens,
            "cache_creation_input_tokens": used.cache_creation_tokens,
        }
        message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": model, "content": []}
        whole = {**message, "stop_reason": None, "stop_sequence": None, "usage": usage}
        yield _event({"type": "message_start", "message": whole}, "message_start")
        yield _event({"type": "ping"}, "ping")
        blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
        if thinking:
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in _pieces(thinking)]
            signed = [*deltas, {"type": "signature_delta", "signature": SIGNATURE}]
            blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, signed))
        if reply.text:
            deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(reply.text)]
            blocks.append(({"type": "text", "text": ""}, deltas))
        for at, call in enumerate(reply.tool_calls):
            start = {"type": "tool_use", "id": f"toolu_{number}_{at}", "name": call.name, "input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in _pieces(_arguments(call))]
            blocks.append((start, deltas))
        for index, (start, deltas) in enumerate(blocks):
            place = {"index": index}
            started = {"type": "content_block_start", **place, "content_block": start}
            yield _event(started, "content_block_start")
            for delta in deltas:
                yield _event({"type": "content_block_delta", **place, "delta": delta}, "content_block_delta")
            yield _event({"type": "content_block_stop", **place}, "content_block_stop")
        ended = {"stop_reason": "tool_use" if reply.tool_calls else "end_turn", "stop_sequence": None}
        last = {"type": "message_delta", "delta": ended, "usage": {"output_tokens": used.output_tokens}}
        yield _event(last, "message_delta")
        yield _event({"type": "message_stop"}, "message_stop")

    def error(self, status: int, message: str) -> Any:
        kinds = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}
        kind = kinds.get(status, "invalid_request_error" if status < 500 else "overloaded_error")
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


class OpenAIChat:
    """``POST /v1/chat/completions``."""

    def read(self, body: Any) -> Asked:
        for tool in body.get("tools", []):
            _check_tool(tool["function"]["name"], tool["function"].get("parameters"))
        prompt, told = "", list[Message]()
        waiting: dict[str, ToolCall] = {}
        for message in body["messages"]:
            role, content = message["role"], message.get("content") or ""
            text = _text_of(content)
            if role == "tool":
                _check(message["tool_call_id"] in waiting, "messages with role 'tool' must follow their tool_calls")
                told.append(Message("tool", text, call=waiting.pop(message["tool_call_id"])))
                continue
            _check(not waiting, f"An assistant message with 'tool_calls' must be followed by results: {set(waiting)}")
            if role in ("system", "developer"):
                prompt = text
            elif role == "assistant":
                calls = message.get("tool_calls") or []
                waiting = {
                    call["id"]: ToolCall(call["function"]["name"], call["function"]["arguments"], call["id"])
                    for call in calls
                }
                _check(len(waiting) == len(calls), "tool_calls: ids must be unique")
                told.append(Message("assistant", text, tuple(waiting.values())))
            else:
                told.append(_said(_texts(content)))
        _check(not waiting, f"An assistant message with 'tool_calls' must be followed by results: {set(waiting)}")
        return Asked(prompt, told)

    def reply(self, reply: Reply, number: int, model: str, thinking: str) -> Iterator[bytes]:
        head = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": 1, "model": model}

        def chunk(delta: Mapping[str, Any], finish: str | None = None) -> bytes:
            return _event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

        yield chunk({"role": "assistant", "content": ""})
        for piece in _pieces(thinking):
            yield chunk({"reasoning_content": piece})
        for piece in _pieces(reply.text):
            yield chunk({"content": piece})
        for at, call in enumerate(reply.tool_calls):
            start = {"index": at, "id": f"call_{number}_{at}", "type": "function"}
            yield chunk({"tool_calls": [{**start, "function": {"name": call.name, "arguments": ""}}]})
            for piece in _pieces(_arguments(call)):
                yield chunk({"tool_calls": [{"index": at, "function": {"arguments": piece}}]})
        yield chunk({}, "tool_calls" if reply.tool_calls else "stop")
        used = reply.usage
        usage = {
            "prompt_tokens": used.input_tokens,
            "completion_tokens": used.output_tokens,
            "total_tokens": used.total_tokens,
            "prompt_tokens_details": {"cached_tokens": used.cached_tokens},
        }
        yield _event({**head, "choices": [], "usage": usage})
        yield b"data: [DONE]\n\n"

    def error(self, status: int, message: str) -> Any:
        kind = "invalid_request_error" if status < 429 else "server_error"
        code = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}.get(status)
        return {"error": {"message": message, "type": kind, "param": None, "code": code}}


class OpenAIResponses(OpenAIChat):
    """``POST /v1/responses``."""

    def read(self, body: Any) -> Asked:
        for tool in body.get("tools", []):
            _check_tool(tool["name"], tool.get("parameters"))
        told: list[Message] = []
        waiting: dict[str, ToolCall] = {}
        for item in body["input"]:
            kind = item.get("type", "message")
            if kind == "function_call":
                call = ToolCall(item["name"], item["arguments"], item["call_id"])
                waiting[call.id] = call
                told.append(Message("assistant", "", (call,)))
            elif kind == "function_call_output":
                _check(item["call_id"] in waiting, "No tool call found for function call output")
                told.append(Message("tool", _text_of(item["output"]), call=waiting.pop(item["call_id"])))
            elif kind == "message":
                _check(not waiting, f"No tool output found for function calls {set(waiting)}")
                role = "assistant" if item["role"] == "assistant" else "user"
                texts = _texts(item["content"])
                told.append(_said(texts) if role == "user" else Message("assistant", "\n".join(texts)))
        _check(not waiting, f"No tool output found for function calls {set(waiting)}")
        return Asked(body.get("instructions") or "", told)

    def reply(self, reply: Reply, number: int, model: str, thinking: str) -> Iterator[bytes]:
        sent = 0

        def event(kind: str, **data: Any) -> bytes:
            nonlocal sent
            sent += 1
            return _event({"type": kind, "sequence_number": sent, **data}, kind)

        head = {"id": f"resp_{number}", "object": "response", "created_at": 1, "model": model, "output": []}
        head |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "status": "in_progress"}
        yield event("response.created", response=head)
        output: list[dict[str, Any]] = []
        if thinking:
            item = {"id": f"rs_{number}", "type": "reasoning", "summary": []}
            yield event("response.output_item.added", output_index=0, item=item)
            place = {"item_id": item["id"], "output_index": 0, "summary_index": 0}
            part = {"type": "summary_text", "text": ""}
            yield event("response.reasoning_summary_part.added", **place, part=part)
            for piece in _pieces(thinking):
                yield event("response.reasoning_summary_text.delta", **place, delta=piece)
            done = {**item, "summary": [{**part, "text": thinking}], "encrypted_content": SIGNATURE}
            yield event("response.output_item.done", output_index=0, item=done)
            output.append(done)
        if reply.text:
            at = len(output)
            item = {"id": f"msg_{number}", "type": "message", "role": "assistant", "status": "in_progress"}
            yield event("response.output_item.added", output_index=at, item={**item, "content": []})
            place = {"item_id": item["id"], "output_index": at, "content_index": 0}
            part = {"type": "output_text", "text": "", "annotations": []}
            yield event("response.content_part.added", **place, part=part)
            for piece in _pieces(reply.text):
                yield event("response.output_text.delta", **place, delta=piece, logprobs=[])
            done = {**item, "status": "completed", "content": [{**part, "text": reply.text}]}
            yield event("response.output_item.done", output_index=at, item=done)
            output.append(done)
        for number_of_call, call in enumerate(reply.tool_calls):
            at = len(output)
            item = {"id": f"fc_{number}_{number_of_call}", "type": "function_call", "name": call.name}
            item |= {"call_id": f"call_{number}_{number_of_call}", "arguments": "", "status": "in_progress"}
            yield event("response.output_item.added", output_index=at, item=item)
            place = {"item_id": item["id"], "output_index": at}
            for piece in _pieces(_arguments(call)):
                yield event("response.function_call_arguments.delta", **place, delta=piece)
            done = {**item, "arguments": _arguments(call), "status": "completed"}
            yield event("response.output_item.done", output_index=at, item=done)
            output.append(done)
        used = reply.usage
        usage = {
            "input_tokens": used.input_tokens,
            "input_tokens_details": {"cached_tokens": used.cached_tokens},
            "output_tokens": used.output_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": used.total_tokens,
        }
        whole = {**head, "status": "completed", "output": output, "usage": usage}
        yield event("response.completed", response=whole)


class GoogleStream:
    """``POST /v1beta/models/NAME:streamGenerateContent``."""

    def read(self, body: Any) -> Asked:
        for tool in body.get("tools", []):
            for one in tool.get("functionDeclarations", []):
                _check_tool(one["name"], one.get("parametersJsonSchema") or {"type": "object"})
        told: list[Message] = []
        waiting: list[ToolCall] = []
        for content in body["contents"]:
            answers = [part["functionResponse"] for part in content["parts"] if "functionResponse" in part]
            is_whole = len(answers) == len(waiting)
            _check(is_whole, "the number of function response parts must equal that of the function call parts")
            for call, answer in zip(waiting, answers, strict=True):
                _check(call.name == answer["name"], f"the response of {answer['name']} is for {call.name}")
                value = answer["response"]
                told.append(Message("tool", value.get("return_value", json.dumps(value)), call=call))
            texts = [part["text"] for part in content["parts"] if "text" in part and not part.get("thought")]
            calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
            waiting = [ToolCall(call["name"], json.dumps(call.get("args") or {})) for call in calls]
            if content["role"] == "model":
                told.append(Message("assistant", "\n".join(texts), tuple(waiting)))
            elif texts or not answers:
                told.append(_said(texts))
        system = body.get("systemInstruction", {"parts": []})
        return Asked("\n".join(part["text"] for part in system["parts"]), told)

    def reply(self, reply: Reply, number: int, model: str, thinking: str) -> Iterator[bytes]:
        head = {"modelVersion": model, "responseId": f"g_{number}"}

        def chunk(part: Mapping[str, Any], **more: Any) -> bytes:
            content = {"role": "model", "parts": [part]}
            return _event({**head, "candidates": [{"content": content, "index": 0, **more}]})

        for piece in _pieces(thinking):
            yield chunk({"text": piece, "thought": True})
        for piece in _pieces(reply.text):
            yield chunk({"text": piece})
        for call in reply.tool_calls:
            signed = {"thoughtSignature": SIGNATURE} if thinking else {}
            yield chunk({"functionCall": {"name": call.name, "args": json.loads(_arguments(call))}, **signed})
        used = reply.usage
        usage = {
            "promptTokenCount": used.input_tokens,
            "candidatesTokenCount": used.output_tokens,
            "cachedContentTokenCount": used.cached_tokens,
            "totalTokenCount": used.total_tokens,
        }
        ended = {"content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": "STOP", "index": 0}
        yield _event({**head, "candidates": [ended], "usageMetadata": usage})

    def error(self, status: int, message: str) -> Any:
        states = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED"}
        return {"error": {"code": status, "message": message, "status": states.get(status, "UNAVAILABLE")}}
