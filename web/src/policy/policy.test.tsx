import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, expect, it, vi } from "vitest";
import type { AgentPolicy, PolicyExplanation } from "../api/types";
import { AgentPolicies } from "./AgentPolicies";
import { changeTexts, decidingPolicies, differenceText, recordedText, verdictNowText } from "./text";
import { WhyVerdict } from "./WhyVerdict";

afterEach(cleanup);

const asked: PolicyExplanation = {
  agent_id: "main",
  tool: "ExecCommand",
  effect: "ask",
  rule: "unlisted_host",
  reason: "the host is not on the agent's list of hosts",
  mode: "standard",
  policy_version: "policy-1-abc",
  command: { text: "curl https://example.com\u0007", program: "curl", is_simple: true },
  targets: [
    { target: "host example.com:443 (unlisted)", effect: "ask", rule: "unlisted_host", policies: ["unlisted_host"] },
    { target: "call", effect: "permit", rule: "registered_tool", policies: ["registered_tool", "unlisted_host"] },
  ],
  alternatives: [
    { change: "the permission mode permissive", effect: "permit" },
    { change: "without the policy main.cedar#2", effect: "permit" },
  ],
  recorded: { status: "denied", rule: "main.cedar#2" },
};

function show(children: ReactNode, answer: () => Response) {
  const paths: string[] = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    paths.push(new URL(request.url).pathname);
    return answer();
  });
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  render(<QueryClientProvider client={client}>{children}</QueryClientProvider>);
  return paths;
}

async function open() {
  const details = screen.getByText("Why?").closest("details") as HTMLDetailsElement;
  details.open = true;
  fireEvent(details, new Event("toggle"));
  return details;
}

it("says in a sentence what the policies say now, and what was recorded", () => {
  expect(verdictNowText("ask")).toBe("By the policies in force now, this call needs your approval");
  expect(verdictNowText("deny")).toBe("By the policies in force now, this call is denied");
  expect(recordedText(asked)).toBe("Recorded with the call: denied, by main.cedar#2.");
  expect(recordedText({ ...asked, recorded: undefined })).toBeUndefined();
});

it("names what would have to differ, and each deciding policy once", () => {
  expect(changeTexts(asked)).toEqual([
    "With the permission mode permissive: permitted.",
    "Without the policy main.cedar#2: permitted.",
  ]);
  expect(decidingPolicies(asked)).toEqual(["unlisted_host", "registered_tool"]);
  expect(decidingPolicies({ ...asked, targets: [] })).toEqual(["unlisted_host"]);
});

it("asks why only when it is opened, and shows policies, facts and changes", async () => {
  const paths = show(<WhyVerdict runKey="r" operationId="o" tool="ExecCommand" />, () => Response.json(asked));
  expect(paths).toEqual([]);
  const details = await open();
  await screen.findByText(/this call needs your approval: the host is not on the list of the agent\./);
  expect(paths).toEqual(["/api/runs/r/steps/o/policy"]);
  const text = details.textContent;
  for (const shown of [
    "Recorded with the call: denied, by main.cedar#2.",
    "standard: asks before actions whose effects leave the sandbox",
    "curl https://example.com␇",
    "host example.com:443 (unlisted)",
    "With the permission mode permissive: permitted.",
    "policy-1-abc",
  ])
    expect(text).toContain(shown);
});

it("says that nothing permits a call that a safety constraint excludes", async () => {
  show(<WhyVerdict runKey="r" operationId="o" tool="ExecCommand" />, () =>
    Response.json({ ...asked, effect: "deny", rule: "unsafe_target", category: "unsafe_target", alternatives: [] }),
  );
  await open();
  await screen.findByText(/^Nothing permits this/);
  expect(screen.getByText("unsafe target")).toBeTruthy();
});

it("says how the verdict differs from the recorded one", () => {
  const permitted = { ...asked, recorded: { status: "ok", rule: "main.cedar#2", effect: "permit" } } as const;
  expect(differenceText(permitted)).toBeUndefined();
  expect(differenceText({ ...permitted, note: "the verdict was permit" })).toBe(
    "The verdict has changed since the call was made: permitted then, needs your approval now.",
  );
  expect(differenceText({ ...permitted, effect: "permit", note: "another rule" })).toBe("Another rule.");
  expect(differenceText({ ...asked, note: "the verdict was permit" })).toBe("The verdict was permit.");
});

it("shows where a call stops, and the whole recorded verdict", async () => {
  const recorded = {
    status: "ok",
    rule: "main.cedar#2",
    effect: "permit",
    reason: "builds may connect",
    targets: ["host example.com:443\u202e (listed)"],
    policy_version: "policy-0-old",
  };
  const note = "the verdict was permit by main.cedar#2 under policy-0-old";
  show(<WhyVerdict runKey="r" operationId="o" tool="ExecCommand" />, () =>
    Response.json({ ...asked, effect: "deny", rule: "tool_quota_exceeded", stage: "quota", note, recorded }),
  );
  await open();
  await screen.findByText("A quota or a budget is used up.");
  expect(screen.getByRole("note").textContent).toBe(
    "The verdict has changed since the call was made: permitted then, denied now.",
  );
  const section = screen.getByRole("region", { name: "What was recorded with the call" });
  for (const shown of ["permitted", "Builds may connect.", "policy-0-old", "‹U+202E›"])
    expect(section.textContent).toContain(shown);
});

it("says that a recorded verdict is not stored", async () => {
  show(<WhyVerdict runKey="r" operationId="o" tool="ExecCommand" />, () => Response.json(asked));
  await open();
  await screen.findByText(/^The verdict itself is not stored/);
});

it("shows why a verdict cannot be explained", async () => {
  const error = { code: "not_explainable", message: "the step is not a call", hint: "choose another step" };
  show(<WhyVerdict runKey="r" operationId="o" tool="ExecCommand" />, () => Response.json({ error }, { status: 409 }));
  await open();
  await screen.findByText(/the step is not a call/i);
});

it("lists the policies of an agent with their text, source and problems", async () => {
  const policy: AgentPolicy = {
    agent_id: "main",
    mode: "standard",
    policy_version: "policy-1-abc",
    policies: [
      {
        rule: "main.cedar#2",
        source: "main.cedar",
        line: 7,
        kind: "forbid",
        text: "forbid(principal, action, resource);",
      },
      { rule: "ask_tool", source: "settings", kind: "ask", text: "@ask permit(principal, action, resource);" },
    ],
    problems: [{ file: "other.cedar", line: 3, message: "unexpected token" }],
    folders: ["/home/you/.wakeful/policies"],
    hooks: [
      {
        event: "PreToolUse",
        matcher: "ExecCommand",
        kind: "command",
        hook: "./check",
        timeout_ms: 10000,
        source: "hooks.json",
      },
    ],
    sandbox: {
      agent_id: "main",
      filesystem_scope: {
        allowed_paths: [{ path: "/work", access: "write" }],
        denied_paths: ["/home/you/.ssh"],
      },
      network_scope: { allowed_hosts: ["example.org"], denied_hosts: [] },
      resource_limits: { max_concurrent_tools: 4, max_tool_execution_ms: 30000 },
    },
  };
  const paths = show(<AgentPolicies agentId="main" />, () => Response.json(policy));
  await screen.findByText(/^2 policies in force/);
  await waitFor(() => expect(paths).toEqual(["/api/agents/main/policy"]));
  const [written, generated] = screen.getAllByRole("listitem");
  expect(within(written as HTMLElement).getByText("forbids")).toBeTruthy();
  expect(written?.textContent).toContain("main.cedar, line 7");
  expect(generated?.textContent).toContain("Each use of this tool in this run needs approval.");
  expect(generated?.textContent).toContain("settings of the agent");
  expect(screen.getByRole("note").textContent).toContain("other.cedar, line 3 is refused");
  expect(within(screen.getByRole("list", { name: "Hooks" })).getByText("./check")).toBeTruthy();
  expect(screen.getByText("4 calls side by side, 30 s for each call except commands")).toBeTruthy();
  expect(screen.getByText(/\/home\/you\/.ssh/)).toBeTruthy();
});
