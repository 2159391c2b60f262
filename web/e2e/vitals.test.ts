// Measures how the pages load with many agents: largest contentful paint, layout shift and blocked time. The numbers
// depend on the machine and are printed; only the layout shift, which does not, has a limit.
//
// PAGE_DIST names a folder with another build of the page (see browser.ts), to compare the two.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { launch, logIn } from "./browser";
import { Daemon } from "./daemon";
import { createAgent, sendMessage } from "./requests";

const AGENTS = 50;

/** Loads of each page; the median counts. */
const LOADS = 5;

/** Half of the limit of a good page by the Web Vitals. */
const SHIFT_MAX = 0.05;

const folder = mkdtempSync(join(tmpdir(), "wakeful-vitals-"));
const home = join(folder, "home");
const workspace = join(folder, "garden");

let daemon: Daemon;
let browser: Browser;
let page: Page;
let runKey: string;
/** The measured pages, as rows of a table in Markdown. */
const table = ["page | largest contentful paint, ms | layout shift | blocked, ms", "--|--:|--:|--:"];

beforeAll(async () => {
  mkdirSync(home);
  mkdirSync(workspace);
  const act = { name: "ExecCommand", input: { cmd: "echo cleared >> world.txt" } };
  const risky = join(folder, "risky.yaml");
  writeFileSync(risky, JSON.stringify({ rounds: [{ text: "I clear the bed.", tools: [act] }, { text: "Done." }] }));
  daemon = await Daemon.start(home, 0);
  browser = await launch();
  const context = await browser.newContext({ viewport: { width: 1100, height: 800 } });
  page = await context.newPage();
  page.setDefaultTimeout(60_000);
  await logIn(page, await daemon.loginLink());
  for (let index = 0; index < AGENTS; index += 1) await createAgent(page, `agent-${index}`, workspace);
  runKey = await sendMessage(page, "agent-0", { text: "Look around and leave a report" });
  for (let index = 1; index < 10; index += 1)
    await sendMessage(page, `agent-${index}`, { text: "Look around and leave a report" });
  await sendMessage(page, "agent-20", {
    text: "Clear the bed",
    model: `scripted:${risky}`,
    ask_tools: ["ExecCommand"],
  });
  await page.addInitScript(() => {
    const vitals = { paintMs: 0, shift: 0, blockedMs: 0 };
    Object.assign(window, { vitals });
    const observe = (type: string, take: (entry: PerformanceEntry) => void) =>
      new PerformanceObserver((list) => list.getEntries().forEach(take)).observe({ type, buffered: true });
    observe("largest-contentful-paint", (entry) => {
      vitals.paintMs = entry.startTime;
    });
    observe("layout-shift", (entry) => {
      vitals.shift += (entry as PerformanceEntry & { value: number }).value;
    });
    observe("longtask", (entry) => {
      vitals.blockedMs += Math.max(0, entry.duration - 50);
    });
  });
  await page.goto(`${daemon.url}/agents/agent-0/runs/${runKey}`);
  await page.locator(".page-head").getByText("Completed", { exact: true }).waitFor();
});

afterAll(async () => {
  console.log(table.join("\n"));
  await browser?.close();
  await daemon?.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Vitals {
  paintMs: number;
  shift: number;
  blockedMs: number;
}

/** What the browser reported from the start of the page until a second after it was loaded. */
async function measure(path: string, isLoaded: string): Promise<Vitals> {
  await page.goto(`${daemon.url}${path}`);
  await page.locator(isLoaded).first().waitFor();
  await page.waitForLoadState("load");
  await page.waitForTimeout(1_000);
  return page.evaluate(() => (window as unknown as { vitals: Vitals }).vitals);
}

const median = (numbers: number[]) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] as number;

it.each([
  ["briefing", () => "/", ".agent-card"],
  ["agent", () => "/agents/agent-0", ".turn.agent"],
  ["run", () => `/agents/agent-0/runs/${runKey}`, ".step"],
  ["runs", () => "/runs", ".run-table tbody tr"],
  ["schedules", () => "/schedules", "main .empty"],
  ["agents", () => "/setup/agents", "main a[href='/setup/agents/agent-0']"],
  ["agent settings", () => "/setup/agents/agent-0", ".form-bar"],
  ["settings", () => "/setup/settings", ".settings tbody tr"],
  ["providers", () => "/setup/providers", "main .entry"],
])("the page of %s does not shift while it loads", async (name, path, isLoaded) => {
  const all: Vitals[] = [];
  for (let load = 0; load < LOADS; load += 1) all.push(await measure(path(), isLoaded));
  const of = (key: keyof Vitals) => median(all.map((one) => one[key]));
  table.push(`${name} | ${of("paintMs").toFixed(0)} | ${of("shift").toFixed(3)} | ${of("blockedMs").toFixed(0)}`);
  expect(of("shift")).toBeLessThan(SHIFT_MAX);
});

it("the briefing shows every agent and responds to a click", async () => {
  const all: { shownMs: number; respondedMs: number }[] = [];
  for (let load = 0; load < LOADS; load += 1) {
    await page.goto(daemon.url, { waitUntil: "commit" });
    all.push(await page.evaluate(timeToRespond, AGENTS));
  }
  const of = (key: "shownMs" | "respondedMs") => median(all.map((one) => one[key])).toFixed(0);
  console.log(
    `briefing: ${AGENTS} agents shown after ${of("shownMs")} ms, a click answered after ${of("respondedMs")} ms`,
  );
});

/** Runs in the page: the time until all agents are shown, and until a click then opens the dialog of the brake. */
async function timeToRespond(agents: number): Promise<{ shownMs: number; respondedMs: number }> {
  const until = (isDone: () => boolean) =>
    new Promise<number>((done) => {
      const look = () => (isDone() ? done(performance.now()) : requestAnimationFrame(look));
      look();
    });
  const shownMs = await until(() => document.querySelectorAll(".agent-card").length === agents);
  document.querySelector<HTMLElement>("button.brake")?.click();
  const respondedMs = await until(() => document.querySelector("dialog[open]") !== null);
  return { shownMs, respondedMs };
}
