"""The real program against `@copilotkit/aimock`: the right answer, or the right failure and exit code.

Every scenario is tried in all four wire formats. The fake picks its fixture by the name of the model, which is the
scenario and the format, so that all of them can run at the same time."""

import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from world import FORMATS, KEY, Aimock, Proxy, run

# More than the two processors of a small machine: most of a failing run is waiting between attempts.
AT_ONCE = 6

# What the engine does by default.
ATTEMPTS_MAX = 3

LONG = "Grüße, 世界! " + " ".join(f"word-{number}" for number in range(200)) + "\n\t\"end\" \\ 🦀"
COUNTED = {"prompt_tokens": 321, "completion_tokens": 45, "total_tokens": 366}
LISTING = {"name": "ExecCommand", "arguments": {"cmd": "printf 'sum-%s' $((40+2))"}}
SECOND = {"name": "ExecCommand", "arguments": {"cmd": "printf 'second-%s' $((6*7))"}}
UNKNOWN = {"name": "NoSuchTool", "arguments": {"x": 1}}
FINE = {"content": "All is well now."}


def error(status, kind, message):
    return {"error": {"message": message, "type": kind, "code": kind}, "status": status}


# Each scenario: fixtures without their model, and what has to come of it.
SCENARIOS = {
    "plain": [({}, {"content": "Four words and more.", "usage": COUNTED}, {})],
    "whole": [({}, {"content": "Four words and more.", "usage": COUNTED}, {})],
    "stream": [({}, {"content": LONG}, {})],
    "tool": [
        ({"hasToolResult": False}, {"toolCalls": [LISTING]}, {}),
        ({"hasToolResult": True, "toolResultContains": "sum-42"}, {"content": "It is 42."}, {}),
    ],
    "whole-tool": [
        ({"hasToolResult": False}, {"toolCalls": [LISTING]}, {}),
        ({"hasToolResult": True, "toolResultContains": "sum-42"}, {"content": "It is 42."}, {}),
    ],
    "two-tools": [
        ({"hasToolResult": False}, {"content": "Both.", "toolCalls": [LISTING, SECOND]}, {}),
        ({"hasToolResult": True, "toolResultContains": "second-42"}, {"content": "Both said 42."}, {}),
    ],
    "unknown-tool": [
        ({"hasToolResult": False}, {"toolCalls": [UNKNOWN]}, {}),
        ({"hasToolResult": True, "toolResultContains": "unknown_tool"}, {"content": "There is none."}, {}),
    ],
    "wrong-key": [({}, FINE, {})],
    "refused": [({}, error(400, "invalid_request_error", "This is not how one asks."), {})],
    "limited": [({}, error(429, "rate_limit_error", "Too many."), {})],
    "limited-once": [({"sequenceIndex": 0}, error(429, "rate_limit_error", "Too many."), {}), ({}, FINE, {})],
    "broken": [({}, error(500, "server_error", "Something broke."), {})],
    "broken-once": [({"sequenceIndex": 0}, error(500, "server_error", "Something broke."), {}), ({}, FINE, {})],
    "drop": [({}, FINE, {"chaos": {"dropRate": 1}})],
    "malformed": [({}, FINE, {"chaos": {"malformedRate": 1}})],
    "disconnect": [({}, FINE, {"chaos": {"disconnectRate": 1}})],
    "cut": [({}, {"content": LONG}, {"truncateAfterChunks": 9, "latency": 5})],
    "ends-early": [({}, {"content": LONG}, {"truncateAfterChunks": 9, "latency": 5})],
    "cut-once": [
        ({"sequenceIndex": 0}, {"content": LONG}, {"truncateAfterChunks": 9, "latency": 5}),
        ({}, FINE, {}),
    ],
}


def fixtures():
    for form in FORMATS:
        for name, steps in SCENARIOS.items():
            for match, response, options in steps:
                yield {"match": {"model": f"{name}-{form}", **match}, "response": response, **options}


def answered(ran, text, code=0):
    assert (ran.code, ran.report["outcome"]) == (code, "completed"), ran
    assert ran.report["final_text"] == text, ran


def failed(ran, kinds, attempts):
    assert (ran.code, ran.report["outcome"]) == (1, "failed"), ran
    assert ran.failure["kind"] in kinds, ran
    assert ran.failure["metadata"]["attempts"] == str(attempts), ran
    assert not ran.report["final_text"], ran


def called(ran, count):
    calls = ran.report["tool_calls"]
    assert len(calls) == count, ran
    return calls


def counted(ran):
    usage = ran.report["token_usage"]
    assert (usage["input_tokens"], usage["output_tokens"]) == (321, 45), ran


def judge(name, ran):
    """What has to come of each scenario."""
    match name:
        case "plain" | "whole":
            answered(ran, "Four words and more.")
            counted(ran)
        case "stream":
            answered(ran, LONG)
        case "tool" | "whole-tool":
            answered(ran, "It is 42.")
            assert called(ran, 1)[0]["status"] == "ok", ran
        case "two-tools":
            answered(ran, "Both said 42.")
            called(ran, 2)
        case "unknown-tool":
            # A tool that does not exist is refused, which the exit code says although the run goes on to its answer.
            answered(ran, "There is none.", code=4)
            assert called(ran, 1)[0]["status"] == "denied", ran
        case "wrong-key":
            failed(ran, ["http_401"], 1)
        case "refused":
            failed(ran, ["http_400"], 1)
        case "limited":
            failed(ran, ["http_429"], ATTEMPTS_MAX)
            # The fake asks for a second of patience each time.
            assert ran.seconds >= ATTEMPTS_MAX - 1, ran
        case "broken" | "drop":
            failed(ran, ["http_500"], ATTEMPTS_MAX)
        case "limited-once" | "broken-once" | "cut-once":
            # Nothing of the attempt that failed is left in the answer.
            answered(ran, FINE["content"])
        case "malformed":
            failed(ran, ["invalid_response"], 1)
        case "disconnect":
            failed(ran, ["connection_lost"], ATTEMPTS_MAX)
        case "cut":
            failed(ran, ["connection_lost"], ATTEMPTS_MAX)
        case "ends-early":
            # The proxy ends in good order what the fake broke off.
            failed(ran, ["truncated_stream"], ATTEMPTS_MAX)
        case _:
            raise AssertionError(f"nobody judges {name}")


def attempt(program, aimock, proxy, form, name):
    direct = f"http://127.0.0.1:{aimock.port}"
    through = {"whole": f"whole-{form}", "whole-tool": f"whole-{form}", "ends-early": f"early-{form}"}
    address = proxy.url(through[name]) if name in through else direct
    key = "some-other-key-that-is-wrong" if name == "wrong-key" else KEY
    try:
        ran = run(program, form, f"{name}-{form}", address, key)
        assert key not in ran.said, "the key was said"
        judge(name, ran)
    except (AssertionError, KeyError) as problem:
        return f"{form} {name}: {problem!r}"
    return None


def main():
    program = os.environ["WAKEFUL_BIN"]
    only = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="wakeful-aimock-") as folder:
        with Aimock(folder, list(fixtures())) as aimock, Proxy(aimock.port) as proxy:
            cases = [(form, name) for name in SCENARIOS for form in FORMATS if not only or name in only]
            with ThreadPoolExecutor(AT_ONCE) as pool:
                problems = pool.map(lambda case: attempt(program, aimock, proxy, *case), cases)
                problems = [problem for problem in problems if problem]
    if problems:
        print("\n".join(problems), file=sys.stderr)
        raise SystemExit(f"{len(problems)} of {len(cases)} scenarios went wrong")
    print(f"providers: {len(cases)} scenarios against aimock end as they should")


if __name__ == "__main__":
    main()
