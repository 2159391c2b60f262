import { expect, it } from "vitest";
import { commandOf, parseToolReceipt } from "./receipt";

it("parses the output and exit status of a command", () => {
  const content = JSON.stringify({
    disposition: "completed",
    exit_status: 2,
    stdout_preview: "out",
    stderr_preview: "err",
    truncated: true,
    sandbox: "enforced: landlock-abi7+seccomp+pidns",
    duration_ms: 24,
  });
  expect(parseToolReceipt(content, false)).toEqual({
    output: "out",
    errors: "err",
    end: "exit status 2",
    isTruncated: true,
    durationMs: 24,
    sandbox: "enforced: landlock-abi7+seccomp+pidns",
    hint: undefined,
  });
});

it("parses why a call was refused", () => {
  const content = JSON.stringify({
    ok: false,
    tool_name: "Fly",
    kind: "unknown_tool",
    message: "no such tool",
    hint: "use another",
  });
  expect(parseToolReceipt(content, true)).toMatchObject({
    output: "no such tool",
    end: "unknown_tool",
    hint: "use another",
  });
});

it("shows text that is not JSON as it is", () => {
  expect(parseToolReceipt("plain words", false)).toMatchObject({ output: "plain words", end: "done" });
});

it("finds the command of shell calls only", () => {
  expect([commandOf({ cmd: "ls" }), commandOf({ path: "x" }), commandOf(null)]).toEqual(["ls", undefined, undefined]);
});
