// Brakes and decisions: an action waits for an approval across restarts, and runs once.
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { audit, launch, logIn, type Watch, WIDE, watch } from "./browser";
import { Daemon } from "./daemon";
import { createAgent, postJson } from "./requests";

const folder = mkdtempSync(join(tmpdir(), "wakeful-decision-"));
const home = join(folder, "home");
const workspace = join(folder, "garden");
const world = join(workspace, "world.txt");
const script = join(folder, "risky.yaml");
const binary = process.env.WAKEFUL_BIN ?? "wakeful";

let daemon: Daemon;
let browser: Browser;
let page: Page;
let seen: Watch;

beforeAll(async () => {
  mkdirSync(home);
  mkdirSync(workspace);
  const act =
    "  - text: I clear the bed.\n    tools:\n      - { name: ExecCommand, input: { cmd: echo cleared >> world.txt } }\n";
  writeFileSync(script, `rounds:\n${act}  - text: The bed is clear.\n`);
  daemon = await Daemon.start(home, 0);
  browser = await launch();
  page = await browser.newPage({ viewport: WIDE, reducedMotion: "reduce" });
  page.setDefaultTimeout(30_000);
  seen = watch(page);
  await logIn(page, await daemon.loginLink());
  await createAgent(page, "gardener", workspace);
});

afterAll(async () => {
  await browser?.close();
  await daemon?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const role = (...args: Parameters<Page["getByRole"]>) => page.getByRole(...args);
const attention = () => role("region", { name: "Needs attention" });
const happened = () => (existsSync(world) ? readFileSync(world, "utf8").trim().split("\n") : []);

/** Runs a command beside the page. */
async function wakeful(...args: string[]): Promise<Record<string, unknown>> {
  const { stdout } = await promisify(execFile)(binary, [...args, "--home", home, "--json"]);
  return JSON.parse(stdout) as Record<string, unknown>;
}

/** A promise that the test resolves. */
function signal() {
  let give = () => {};
  const given = new Promise<void>((resolve) => (give = resolve));
  return { given, give };
}

const send = (text: string) =>
  postJson(page, "/api/agents/gardener/messages", {
    text,
    model: `scripted:${script}`,
    ask_tools: ["ExecCommand"],
  }) as Promise<{ run_key: string }>;

describe("the brake", () => {
  it("brakes all agents from the header and shows it on every page", async () => {
    await role("button", { name: "Brake all" }).click();
    await role("dialog", { name: "Brake all agents" }).waitFor();
    await audit(page);
    await page.getByLabel(/^Reason/).fill("I want to look first");
    await role("button", { name: "Brake all agents" }).click();
    await page.getByText("All agents are braked").first().waitFor();
    await page.getByText("“I want to look first”").first().waitFor();
    await audit(page);
    expect(await wakeful("brake", "status")).toMatchObject({
      is_on: true,
      brakes: [{ channel: "page", reason: "I want to look first" }],
    });
    await page.goto(`${daemon.url}/agents/gardener`);
    await page.getByText(/gardener is braked/).waitFor();
    await audit(page);
    await wakeful("brake", "off");
    await page.getByText("gardener is asleep").waitFor();
    await role("button", { name: "Brake all" }).waitFor();
  });

  it("brakes one agent alone", async () => {
    await role("button", { name: "Brake", exact: true }).click();
    await role("button", { name: "Brake gardener" }).click();
    await page.getByText(/gardener is braked/).waitFor();
    expect(await wakeful("brake", "status")).toMatchObject({ is_on: false, brakes: [{ agent_id: "gardener" }] });
    await role("button", { name: "Release brake" }).click();
    await role("button", { name: "Release gardener" }).click();
    await page.getByText("gardener is asleep").waitFor();
    await page.goto(daemon.url);
    await attention().getByText("Nothing needs attention.").waitFor();
  });
});

describe("cards in the briefing", () => {
  it("long content stays accessible", async () => {
    const question = {
      decision_id: "d".repeat(64),
      kind: "outcome_unknown",
      status: "pending",
      version: 2,
      title: "May ExecCommand be used again?",
      tool: "ExecCommand",
      input: `rm -r ${"build/".repeat(60)}`,
      severity: "critical",
      blast_radius: "unknown",
      rule: "ask_tool",
      is_input_cut: true,
      may_answer: ["cli", "api"],
      options: [
        { id: "approve", label: "Do it again", description: "If it did happen, it happens twice." },
        { id: "deny", label: "Leave it", description: "It is not repeated." },
      ],
      recommended_option_id: "deny",
      badges: ["timed_out"],
      agent_id: "gardener",
      run_key: "a".repeat(64),
      operation_id: "b".repeat(64),
      asked_at: "2026-01-01T00:00:00Z",
      deadline_at: "2026-01-08T00:00:00Z",
    };
    const quarantined = {
      run_key: "c".repeat(64),
      agent_id: "gardener",
      status: "quarantined",
      transitions: 4,
      started_at: "2026-01-01T00:00:00Z",
      preview: "Clear the bed",
      fault: JSON.stringify({
        code: "run_state_invalid",
        why: `run ${"c".repeat(64)} cannot go on: a transcript entry is missing`,
      }),
    };
    const full = { ...question, input: `rm -r ${"build/".repeat(600)}`, is_input_cut: false };
    await page.route(/\/api\/decisions\/d+$/, (route) => route.fulfill({ json: full }));
    await page.route(/\/api\/decisions$/, (route) =>
      route.fulfill({ json: { decisions: [question], pending_count: 1 } }),
    );
    const items = [
      { kind: "pending_decision", decision: question },
      { kind: "quarantined_run", run: quarantined },
    ];
    await page.route(/\/api\/attention$/, (route) => route.fulfill({ json: { items } }));
    await page.goto(daemon.url);
    await attention().getByRole("button", { name: "Leave it (recommended)" }).waitFor();
    await attention().getByRole("button", { name: "Resume run" }).waitFor();
    await attention()
      .getByText("Wakeful cannot read the stored state of this run: a transcript entry is missing.")
      .waitFor();
    await attention()
      .getByText(`All ${full.input.length.toLocaleString("en")} characters are shown.`)
      .waitFor();
    await attention().getByText("This page cannot answer this decision.").waitFor();
    expect(await attention().getByRole("button", { name: "Leave it (recommended)" }).isDisabled()).toBe(true);
    await audit(page);
    await page.goto(`${daemon.url}/agents/gardener`);
    await role("region", { name: "Pending decisions" }).waitFor();
    await audit(page);
    await page.unrouteAll({ behavior: "wait" });
    await page.goto(daemon.url);
    await attention().getByText("Nothing needs attention.").waitFor();
  });
});

describe("a decision", () => {
  it("a pending decision appears in the briefing before its action runs", async () => {
    await send("Clear the bed");
    await attention().getByRole("heading", { name: "May ExecCommand be used?" }).waitFor();
    await attention().getByText("echo cleared >> world.txt").waitFor();
    expect(await page.title()).toContain("(1)");
    await audit(page);
    expect(happened()).toEqual([]);
  });

  it("a decision survives a restart of the daemon", async () => {
    const { port } = daemon;
    await daemon.stop();
    daemon = await Daemon.start(home, port);
    await page.reload();
    await attention().getByRole("button", { name: "Approve" }).waitFor();
    expect(happened()).toEqual([]);
  });

  it("an approval on the page runs the action once", async () => {
    await attention().getByLabel(/^Note/).fill("only this bed");
    await attention().getByRole("button", { name: "Approve" }).click();
    await attention().getByText("Answered. The run continues. “Approve” was chosen on the page.").waitFor();
    await page.getByText("The bed is clear.").first().waitFor();
    expect(happened()).toEqual(["cleared"]);
    const { decisions } = (await wakeful("decision", "list", "--all")) as { decisions: { answer: unknown }[] };
    expect(decisions.map((one) => one.answer)).toMatchObject([
      { option: "approve", channel: "page", note: "only this bed" },
    ]);
  });

  it("a long command is shown in full before it can be approved", async () => {
    const long = join(folder, "long.yaml");
    const harmless = "true harmless; ".repeat(60);
    writeFileSync(
      long,
      `rounds:\n  - tools:\n      - { name: ExecCommand, input: { cmd: "${harmless}echo the-tail >> world.txt" } }\n  - text: It is done.\n`,
    );
    await postJson(page, "/api/agents/gardener/messages", {
      text: "Do much",
      model: `scripted:${long}`,
      ask_tools: ["ExecCommand"],
    });
    await attention().getByText("echo the-tail >> world.txt").waitFor();
    // The answered decision keeps its place above the new one.
    expect(await attention().getByLabel("Arguments").last().textContent()).toContain(
      `"cmd":"${harmless}echo the-tail >> world.txt"`,
    );
    await audit(page);
    await attention().getByRole("button", { name: "Approve" }).click();
    await attention().getByText("Answered. The run continues.").nth(1).waitFor();
    await page.getByText("It is done.").first().waitFor();
    expect(happened()).toEqual(["cleared", "the-tail"]);
  });

  it("a decision answered elsewhere shows its answer on the page of its run", async () => {
    const { run_key: runKey } = await send("Clear the other bed");
    await page.goto(`${daemon.url}/agents/gardener/runs/${runKey}`);
    const region = role("region", { name: "Pending decisions" });
    await region.getByRole("button", { name: "Deny" }).waitFor();
    await audit(page);
    const { decisions } = (await wakeful("decision", "list")) as { decisions: { decision_id: string }[] };
    await wakeful("decision", "answer", decisions[0]?.decision_id ?? "", "deny", "--note", "not that one");
    await region.getByText(/“Deny” was chosen .*Note: “not that one”/).waitFor();
    expect(await region.getByRole("button", { name: "Approve" }).count()).toBe(0);
    await audit(page);
    await page.locator(".page-head").getByText("Completed").waitFor();
    expect(happened()).toEqual(["cleared", "the-tail"]);
  });

  it.each([
    ["decisions", /\/api\/attention$/],
    ["the start of its stream", /\/api\/events\?limit=/],
  ])("a decision asked while the page loads %s is not missed", async (what, address) => {
    const [read, held] = [signal(), signal()];
    // Leaves the page, so that its requests end.
    await page.goto(`${daemon.url}/healthz`);
    await page.route(
      address,
      async (route) => {
        // The decisions are read before the new one is asked; the stream starts after it.
        const early = what === "decisions" ? await route.fetch() : undefined;
        read.give();
        await held.given;
        await (early ? route.fulfill({ response: early }) : route.continue());
      },
      { times: 1 },
    );
    const loaded = page.waitForResponse(/\/api\/runtime\/status$/);
    await page.goto(daemon.url);
    await Promise.all([read.given, loaded]);
    expect(await page.getByText("Nothing needs attention.").count()).toBe(0);
    const { run_key } = await send(`Clear the bed while it reads ${what}`);
    await expect
      .poll(async () => ((await wakeful("decision", "list")) as { pending_count: number }).pending_count)
      .toBe(1);
    // An open stream reports the decision before the old response arrives.
    if (what === "decisions") await page.getByText("Needs a decision").first().waitFor();
    held.give();
    await attention().getByRole("heading", { name: "May ExecCommand be used?" }).waitFor();
    await wakeful("runs", "cancel", run_key);
    await attention().getByText("The run ended before the decision was answered.").waitFor();
  });

  it("a decision and a denied call say why, and the policies of the agent are listed", async () => {
    const why = page.locator("summary", { hasText: "Why?" });
    const { run_key: asking } = await send("Clear the bed once more");
    await page.goto(`${daemon.url}/agents/gardener/runs/${asking}`);
    const region = role("region", { name: "Pending decisions" });
    await region.getByLabel(/^Why\?/).click();
    await region.getByText(/this call needs your approval: each use of this tool/).waitFor();
    await region.getByText("With ExecCommand removed from the tools that ask: permitted.").waitFor();
    await audit(page);
    await wakeful("runs", "cancel", asking);
    const { run_key: denied } = await postJson(page, "/api/agents/gardener/messages", {
      text: "Clear it anyway",
      model: `scripted:${script}`,
      deny_tools: ["ExecCommand"],
    });
    await page.goto(`${daemon.url}/agents/gardener/runs/${denied}`);
    await page.locator(".page-head").getByText("Completed").waitFor();
    await why.click();
    await page.getByText("Recorded with the call: denied, by denied_tool.").waitFor();
    await page.locator(".explanation").getByRole("link", { name: "Policies" }).click();
    const policies = role("region", { name: "Policies" });
    await policies.getByText("outside_path", { exact: true }).click();
    await policies.getByText("It reaches a path outside the workspace.").waitFor();
    await audit(page);
  });
});

it("no request left this machine and no page logged an error", () => {
  expect(seen).toEqual({ foreign: [], errors: [] });
});
