// Costs, fallbacks and runs over the daily cap, in a real browser against the real program.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { audit, launch, logIn, type Watch, WIDE, watch } from "./browser";
import { Daemon } from "./daemon";
import { changeResponse, createAgent, sendMessage } from "./requests";

const folder = mkdtempSync(join(tmpdir(), "wakeful-money-"));
const home = join(folder, "home");
const workspace = join(folder, "garden");
const overloaded = join(folder, "overloaded.yaml");

let daemon: Daemon;
let browser: Browser;
let page: Page;
let seen: Watch;

beforeAll(async () => {
  mkdirSync(home);
  mkdirSync(workspace);
  const usage = "usage: { input_tokens: 1200, output_tokens: 40 }";
  writeFileSync(
    overloaded,
    `rounds:\n  - fail: { status: 503, retry_after_ms: 10 }\n  - text: All is well.\n    ${usage}\n`,
  );
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

const text = (shown: string | RegExp) => page.getByText(shown).first();
const role = (...args: Parameters<Page["getByRole"]>) => page.getByRole(...args);

// The scripted model costs nothing, so the responses are changed on their way to the page.
it("costs, a fallback and a parked run are shown", async () => {
  const runKey = await sendMessage(page, "gardener", { text: "Think hard about it", model: `scripted:${overloaded}` });
  await page.goto(`${daemon.url}/agents/gardener/runs/${runKey}`);
  await page.locator(".page-head").getByText("Completed", { exact: true }).waitFor();
  const budget = (old: Record<string, unknown>) => ({
    ...old,
    spent_usd: "4.9731",
    agents: [{ agent_id: "gardener", spent_usd: "0.9842", reserved_usd: "0.01", requests: 31, daily_cap_usd: "1.00" }],
  });
  const parked = {
    code: "budget_exceeded",
    scope: "agent",
    resource: "money",
    period: "daily",
    max: 1_000_000,
    used: 994_200,
    needed: 20_000,
    until: "2026-01-02T00:00:00Z",
    message: "no money is left",
    hint: "raise the cap",
    command: "wakeful budget set 2 --agent gardener",
  };
  const diagnostics = {
    stage: "first_byte",
    url: "http://127.0.0.1/v1/messages",
    status: 503,
    source_chain: ["overloaded", "try later"],
  };
  const usage = {
    input_tokens: 1200,
    output_tokens: 40,
    total_tokens: 1240,
    cached_read_tokens: 1000,
    reasoning_tokens: 30,
  };
  const runOf = (old: {
    steps: { name: string }[];
    provider_attempt_timeline: { attempts: Record<string, unknown>[] };
  }) => {
    const [first, second] = old.provider_attempt_timeline.attempts;
    const attempts = [
      { ...first, outcome: "retries_exhausted", advanced_to_fallback: true, transport_diagnostics: diagnostics },
      { ...second, model_ref: "other/model", provider: "other", attempt: 1, token_usage: usage, cost_usd: "0.0042" },
    ];
    const steps = old.steps.map((step, index) => (index === 0 ? step : { ...step, name: "other/model" }));
    const timeline = { ...old.provider_attempt_timeline, attempts, winning_model_ref: "other/model" };
    return { ...old, steps, outcome: "open", parked, cost_usd: "0.0042", provider_attempt_timeline: timeline };
  };
  const stateOf = (old: { agent: object }) => ({
    ...old,
    agent: { ...old.agent, activity: "stuck", open_run: runKey },
  });
  const day = (name: string, spent_usd: string) => ({ day: name, spent_usd, reserved_usd: "0.00", requests: 12 });
  const days = [day("2026-01-01", "0.25"), day("2026-01-02", "1.00"), day("2026-01-03", "0.000042")];
  const run = {
    run_key: runKey,
    agent_id: "gardener",
    status: "open",
    parked: true,
    waiting_for: "budget",
    preview: "Think hard about it",
    transitions: 1,
    started_at: "2026-01-01T00:00:00.000Z",
    counts: { model_rounds: 1, tool_calls: 0, denied: 0, failed: 0, unknown: 0 },
  };
  const attentionOf = (old: { items: object[] }) => ({ ...old, items: [{ kind: "parked_run", run, parked }] });
  const thinking = { type: "thinking", text: "The garden may be empty." };
  const attachment = { type: "attachment", name: "map.png", media_type: "image/png", base64_bytes: 4096 };
  const transcriptOf = (old: { lines: { role: string; blocks: object[] }[] }) => {
    old.lines.findLast((line) => line.role === "user")?.blocks.push(attachment);
    old.lines.findLast((line) => line.role === "assistant")?.blocks.unshift(thinking);
    return old;
  };
  await changeResponse(page, /\/api\/budget$/, budget);
  await changeResponse(page, /\/api\/runs\/[0-9a-f]+$/, runOf);
  await changeResponse(page, /\/api\/agents\/gardener\/state$/, stateOf);
  await changeResponse(page, /\/api\/agents\/gardener\/spending$/, (old: object) => ({ ...old, days }));
  await changeResponse(page, /\/api\/agents\/gardener\/transcript/, transcriptOf);
  await changeResponse(page, /\/api\/attention$/, attentionOf);

  await page.reload();
  await role("heading", { name: "Waiting: the next request may cost up to $0.02, $0.0058 of $1.00 is left" }).waitFor();
  await page
    .locator(".page-head")
    .getByText(/\$0\.0042 · fell back to other\/model/)
    .waitFor();
  await page.locator(".step-head").getByText("fell back to other/model").waitFor();
  await text(/1,200 input tokens \(1,000 read from cache\), 40 output tokens \(30 reasoning\)/).waitFor();
  await text("Transport details").click();
  await text("waiting for the first byte").waitFor();
  await audit(page);
  await role("button", { name: "Raise cap" }).click();
  await role("dialog", { name: "Daily cap of gardener" }).waitFor();
  await audit(page);
  await page.keyboard.press("Escape");

  await page.goto(`${daemon.url}/agents/gardener`);
  await page
    .locator(".page-head")
    .getByText("gardener is waiting: the next request may exceed the daily cap")
    .waitFor();
  await role("region", { name: "Cost" }).getByText("$0.000042").waitFor();
  await text("map.png").waitFor();
  await text("Thinking").click();
  await text("The garden may be empty.").waitFor();
  await audit(page);

  await page.goto(daemon.url);
  await role("region", { name: "Spent today" }).getByText("near the cap").waitFor();
  const waits = role("region", { name: "Needs attention" }).locator(".attention-card", {
    hasText: "Think hard about it",
  });
  await waits
    .getByText(/^This agent may spend/)
    .first()
    .waitFor();
  await waits.getByRole("button", { name: "Raise cap" }).waitFor();
  await page.locator(".agent-card", { hasText: "gardener" }).getByText("Waiting for budget").waitFor();
  await audit(page);
  await page.unrouteAll({ behavior: "wait" });
});

it("no request left this machine and no page logged an error", () => {
  expect(seen).toEqual({ foreign: [], errors: [] });
});
