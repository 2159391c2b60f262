"""Our client and the official SDKs say the same: what each sends to the same fake is recorded and compared.

Bodies are compared in meaning (`normal`), headers and paths by name and value. Every difference has to be listed in
`differences.json` with its reason; one that is not listed fails, and so does a listed one that no longer occurs, unless
it is marked as planned. `--write` puts the table of all of them into docs/providers.md."""

import fnmatch
import json
import os
import re
import sys
import tempfile

from sdks import ASK
from shapes import malformed
from world import FORMATS, HERE, KEY, Aimock, Proxy, run

DOCS = HERE.parent.parent / "docs/providers.md"
BEGIN, END = "<!-- parity: written by checks/providers/parity.py --write -->", "<!-- parity: end -->"

PROMPT = "Look around, and say what is here."
CALL = {"id": "call_one", "name": "ExecCommand", "arguments": {"cmd": "printf out"}}
OTHER = {"id": "call_two", "name": "NoSuchTool", "arguments": {"deep": {"list": [1, "two", None]}, "text": "ü \"q\" \\"}}

# A scenario: what the fake answers first, and whether the SDK is asked to stream.
SCENARIOS = {
    "plain": ({"content": "An answer."}, False),
    "stream": ({"content": "An answer."}, True),
    "tool round trip": ({"toolCalls": [CALL]}, True),
    "words and two tools, one failed": ({"content": "Let me look.", "toolCalls": [CALL, OTHER]}, True),
    "thinking": ({"toolCalls": [CALL]}, True),
}

# How much the models of these scenarios are asked to think.
THINKING = {"thinking": "low"}

# Headers that say how bytes travel and nothing of what they mean.
TRAVEL = ("host", "content-length", "connection")


def model_of(scenario):
    return re.sub(r"\W+", "-", scenario)


def fixtures():
    for scenario, (first, _) in SCENARIOS.items():
        match = {"model": model_of(scenario)}
        yield {"match": {**match, "hasToolResult": False}, "response": first}
        yield {"match": {**match, "hasToolResult": True}, "response": {"content": "Done."}}


# What our client had to say, read from its own requests. --------------------------------------------------------------


def content_of(form, requests):
    first, last = requests[0].json(), requests[-1].json()
    match form:
        case "anthropic":
            system = [block["text"] for block in first["system"]]
            user = first["messages"][0]["content"][0]["text"]
            tools = [(t["name"], t["description"], t["input_schema"]) for t in first["tools"]]
            results = [block["content"] for block in last["messages"][-1]["content"] if block["type"] == "tool_result"]
        case "openai":
            system = [first["instructions"]]
            user = first["input"][0]["content"][0]["text"]
            tools = [(t["name"], t["description"], t["parameters"]) for t in first["tools"]]
            results = [item["output"] for item in last["input"] if item["type"] == "function_call_output"]
        case "openai-chat":
            system = [first["messages"][0]["content"]]
            user = first["messages"][1]["content"]
            tools = [(t["function"]["name"], t["function"]["description"], t["function"]["parameters"]) for t in first["tools"]]
            results = [message["content"] for message in last["messages"] if message["role"] == "tool"]
        case "gemini":
            system = [part["text"] for part in first["systemInstruction"]["parts"]]
            user = first["contents"][0]["parts"][0]["text"]
            declared = first["tools"][0]["functionDeclarations"]
            tools = [(t["name"], t["description"], t["parametersJsonSchema"]) for t in declared]
            answers = [part["functionResponse"] for part in last["contents"][-1]["parts"] if "functionResponse" in part]
            results = [text for answer in answers for text in answer["response"].values()]
    return {
        "system": system,
        "user": user,
        "tools": [{"name": name, "description": words, "schema": schema} for name, words, schema in tools],
        # Which of them failed is known here and not asked of those who are to be checked.
        "results": [{"text": text, "failed": call is OTHER} for text, call in zip(results, (CALL, OTHER), strict=False)],
    }


# The same meaning in the same shape. ----------------------------------------------------------------------------------


def normal(form, body):
    """Undoes what the formats allow to be written in two ways. What is absent and what is null mean the same, but for
    what a model or a tool wrote."""
    body = without_nulls(body)
    if form == "gemini":
        for tool in body["tools"]:
            for declared in tool["functionDeclarations"]:
                # The provider reads its fields in both spellings.
                if "parameters_json_schema" in declared:
                    declared["parametersJsonSchema"] = declared.pop("parameters_json_schema")
        thinking = body.get("generationConfig", {}).get("thinkingConfig", {})
        if "thinking_level" in thinking:
            thinking["thinkingLevel"] = thinking.pop("thinking_level")
    if form == "openai":
        said = body["input"]
        items = [{"role": "user", "content": said}] if isinstance(said, str) else said
        body["input"] = [normal_item(item) for item in items]
    if form == "anthropic":
        for message in body["messages"]:
            if isinstance(message["content"], str):
                message["content"] = [{"type": "text", "text": message["content"]}]
    if form == "openai-chat":
        for message in body["messages"]:
            for call in message.get("tool_calls", []):
                call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return body


def normal_item(item):
    if "role" in item:
        item = {"type": "message", **item}
        if isinstance(item["content"], str):
            kind = "output_text" if item["role"] == "assistant" else "input_text"
            item["content"] = [{"type": kind, "text": item["content"]}]
    if item["type"] == "function_call":
        item = {**item, "arguments": json.loads(item["arguments"])}
    return item


def without_nulls(value):
    match value:
        case dict():
            kept = {name: inner for name, inner in value.items() if inner is not None}
            return {name: inner if is_foreign(name, inner) else without_nulls(inner) for name, inner in kept.items()}
        case list():
            return [without_nulls(inner) for inner in value]
        case _:
            return value


def is_foreign(name, value):
    """Whether a field holds somebody's own JSON, in which a null may mean something."""
    return isinstance(value, dict) and name in ("args", "input", "response", "parameters", "input_schema")


ABSENT = object()


def differences(ours, theirs, path=""):
    """Where two values differ: the path, and what each has there."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name in sorted({*ours, *theirs}):
            inner = f"{path}.{name}" if path else name
            yield from differences(ours.get(name, ABSENT), theirs.get(name, ABSENT), inner)
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for left, right in zip(ours, theirs, strict=True):
            yield from differences(left, right, path + "[]")
    elif ours is ABSENT or theirs is ABSENT or type(ours) is not type(theirs) or ours != theirs:
        yield path, ours, theirs


def compare(form, ours, theirs):
    """All differences of two requests, as (part, name, what ours has, what theirs has)."""
    for name, mine, other in differences(pieces(ours.path), pieces(theirs.path)):
        yield "path", name, mine, other
    left, right = headers(ours), headers(theirs)
    for name, mine, other in differences(left, right):
        yield "header", name, mine, other
    for path, mine, other in differences(normal(form, ours.json()), normal(form, theirs.json())):
        yield "body", path, mine, other


def pieces(path):
    path, _, query = path.partition("?")
    _, version, rest = path.split("/", 2)
    resource, _, method = rest.partition(":")
    return {"version": version, "resource": resource, "method": method, "query": query}


def headers(sent):
    return {name.lower(): value.replace(KEY, "KEY") for name, value in sent.headers if name.lower() not in TRAVEL}


# The list. ------------------------------------------------------------------------------------------------------------


def kind_of(mine, other):
    if other is ABSENT:
        return "only ours"
    return "only theirs" if mine is ABSENT else "differs"


def allows(entry, form, scenario, part, name, mine, other):
    """Whether an entry of the list speaks of this difference."""
    return (
        form in entry["formats"]
        and scenario in entry.get("scenarios", [scenario])
        and part == entry["part"]
        and kind_of(mine, other) == entry["kind"]
        and fnmatch.fnmatchcase(name.replace("[]", "<>"), entry["name"].replace("[]", "<>"))
        and entry.get("ours", mine) == mine
        and entry.get("theirs", other) == other
    )


def record(proxy, form, scenario, offered):
    """Both sides of a scenario, as pairs of requests. `offered` are the tools of those before."""
    name = model_of(scenario)
    ours, theirs = f"ours-{form}-{name}", f"theirs-{form}-{name}"
    thinking = THINKING.get(scenario)
    settings = {f"providers.{form}.thinking": thinking} if thinking else {}
    run(os.environ["WAKEFUL_BIN"], form, name, proxy.url(ours), prompt=PROMPT, settings=settings)
    content = {**content_of(form, proxy.sent[ours]), "thinking": thinking}
    assert content["user"].endswith(PROMPT), f"{form} {scenario}: the question was {content['user']!r}"
    # What is on offer is the same for all: a format that left something out would be caught here.
    offered.append(content["tools"])
    assert offered[0] == offered[-1], f"{form} offers {offered[-1]}, and another {offered[0]}"
    ASK[form](proxy.url(theirs), name, content, SCENARIOS[scenario][1])
    sent = proxy.sent[ours], proxy.sent[theirs]
    assert len(sent[0]) == len(sent[1]), f"{form} {scenario}: {len(sent[0])} and {len(sent[1])} requests"
    return list(zip(*sent, strict=True))


def shown(value):
    return "nothing" if value is ABSENT else json.dumps(value, ensure_ascii=False)[:200]


def main():
    listed = json.loads((HERE / "differences.json").read_text())
    problems, met, offered = check_table(listed), set(), []
    with tempfile.TemporaryDirectory(prefix="wakeful-parity-") as folder:
        with Aimock(folder, list(fixtures())) as aimock, Proxy(aimock.port) as proxy:
            for form in FORMATS:
                for scenario in SCENARIOS:
                    for number, (ours, theirs) in enumerate(record(proxy, form, scenario, offered)):
                        if problem := malformed(form, ours.json()):
                            problems[f"{form}: the SDK's types refuse request {number + 1} of `{scenario}`"] = problem
                        for found in compare(form, ours, theirs):
                            entries = [n for n, entry in enumerate(listed) if allows(entry, form, scenario, *found)]
                            met.update(entries)
                            if not entries:
                                part, name, mine, other = found
                                where = f"request {number + 1} of `{scenario}`: ours has {shown(mine)}, theirs {shown(other)}"
                                problems.setdefault(f"{form}: {part} {name}, {kind_of(mine, other)}", where)
    for number, entry in enumerate(listed):
        if number not in met and not entry.get("planned"):
            problems[f"{', '.join(entry['formats'])}: {entry['part']} {entry['name']}"] = "listed but not found any more"
    if problems:
        print("\n".join(f"{what}: {where}" for what, where in sorted(problems.items())), file=sys.stderr)
        raise SystemExit("list what is right in checks/providers/differences.json, with the reason, and mend the rest")
    print(f"providers: {len(FORMATS) * len(SCENARIOS)} scenarios are asked as the official SDKs ask them, {len(met)} listed differences")


# The table. -----------------------------------------------------------------------------------------------------------


def table(listed):
    lines = ["| format | where | ours | SDK | why |", "|---|---|---|---|---|"]
    for entry in listed:
        forms = ", ".join(f"`{form}`" for form in entry["formats"]) if len(entry["formats"]) < len(FORMATS) else "all"
        sides = {"only ours": ("sent", "–"), "only theirs": ("–", "sent"), "differs": ("differs", "differs")}[entry["kind"]]
        ours = f"`{json.dumps(entry['ours'])}`" if "ours" in entry else sides[0]
        theirs = f"`{json.dumps(entry['theirs'])}`" if "theirs" in entry else sides[1]
        why = entry["why"] + (" *Planned.*" if entry.get("planned") else "")
        lines.append(f"| {forms} | {entry['part']} `{entry['name']}` | {ours} | {theirs} | {why} |")
    return "\n".join(lines)


def with_table(text, listed):
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{table(listed)}\n{END}{after}"


def check_table(listed):
    text = DOCS.read_text()
    if BEGIN not in text or with_table(text, listed) != text:
        return {"docs/providers.md": "its table is out of date: run scripts/providers --write"}
    return {}


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        DOCS.write_text(with_table(DOCS.read_text(), json.loads((HERE / "differences.json").read_text())))
    else:
        main()
