"""Whether a body is one that the official SDK itself would call well formed, by the types it declares for its callers.

This also judges fields that no scenario asks of the SDK, such as marks for caches."""

from anthropic.types.beta.message_create_params import MessageCreateParamsStreaming as BetaMessageCreateParamsStreaming
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from google.genai import types
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from pydantic import TypeAdapter, ValidationError

DECLARED = {
    "anthropic": TypeAdapter(MessageCreateParamsStreaming),
    "anthropic with beta": TypeAdapter(BetaMessageCreateParamsStreaming),
    "openai": TypeAdapter(ResponseCreateParamsStreaming),
    "openai-chat": TypeAdapter(CompletionCreateParamsStreaming),
}
GEMINI = {
    "systemInstruction": TypeAdapter(types.Content),
    "contents": TypeAdapter(list[types.Content]),
    "tools": TypeAdapter(list[types.Tool]),
    "generationConfig": TypeAdapter(types.GenerationConfig),
}


def malformed(form, body):
    """What the SDK's types have against a body; nothing if it fits."""
    try:
        if form == "gemini":
            unknown = sorted(set(body) - set(GEMINI))
            for name in set(body) & set(GEMINI):
                GEMINI[name].validate_python(body[name])
            return f"unknown fields {unknown}" if unknown else None
        # The one field that we may send and that the SDK declares in its beta part alone.
        kind = f"{form} with beta" if "context_management" in body else form
        read = plain(DECLARED[kind].validate_python(completed(form, body)))
    except ValidationError as problem:
        return f"{problem.error_count()} objections, the first: {problem.errors()[0]}"
    lost = sorted(missing(completed(form, body), read))
    return f"unknown fields {lost}" if lost else None


def completed(form, body):
    """With what the listed differences leave out: the type of an item that was an answer demands it, the provider does not."""
    if form != "openai":
        return body
    items = []
    for item in body["input"]:
        if item.get("role") == "assistant":
            content = [{"annotations": [], **said} for said in item["content"]]
            item = {"id": "msg", "status": "completed", **item, "content": content}
        items.append(item)
    return {**body, "input": items}


def plain(value):
    """The types read some lists only when somebody looks at them."""
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return [plain(inner) for inner in value]


def missing(before, after, path=""):
    """Where something was left out in reading, because no type knows it."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name, inner in before.items():
            if name not in after:
                yield f"{path}.{name}"
            else:
                yield from missing(inner, after[name], f"{path}.{name}")
    elif isinstance(before, list) and isinstance(after, list):
        for left, right in zip(before, after, strict=True):
            yield from missing(left, right, path + "[]")
