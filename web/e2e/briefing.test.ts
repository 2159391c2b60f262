// The briefing, the page of an agent and the page of a run, from login to logout.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { audit, launch, logIn, PHONE, picture, type Watch, WIDE, watch } from "./browser";
import { Daemon } from "./daemon";
import { createAgent, sendMessage } from "./requests";

const folder = mkdtempSync(join(tmpdir(), "wakeful-e2e-"));
// Taken in every run, so that the code does not rot; written to the repository only with UPDATE_IMAGES.
const images = process.env.UPDATE_IMAGES
  ? fileURLToPath(new URL("../../docs/images/", import.meta.url))
  : join(folder, "images");
const home = join(folder, "home");
const workspace = join(folder, "garden");
const failing = join(folder, "failing.yaml");
const slow = join(folder, "slow.yaml");
const overloaded = join(folder, "overloaded.yaml");

let daemon: Daemon;
let browser: Browser;
let page: Page;
let seen: Watch;

beforeAll(async () => {
  mkdirSync(images, { recursive: true });
  mkdirSync(home);
  mkdirSync(workspace);
  writeFileSync(join(workspace, "notes.md"), "tomatoes, beans\n");
  const asking = "  - text: I ask for the weather.\n    tools:\n      - { name: ExecCommand, input: { cmd: date } }\n";
  writeFileSync(failing, `rounds:\n${asking}  - fail: { status: 401 }\n`);
  const usage = "usage: { input_tokens: 1200, output_tokens: 40 }";
  writeFileSync(
    overloaded,
    `rounds:\n  - fail: { status: 503, retry_after_ms: 10 }\n  - text: All is well.\n    ${usage}\n`,
  );
  // About one word a second, for longer than any test waits.
  const story = Array.from(
    { length: 60 },
    (_, index) => ["I", "go", "through", "the", "feeds,", `page ${index}.`][index % 6],
  ).join(" ");
  writeFileSync(slow, `rounds:\n  - text: "${story}"\n    delay_ms: 60000\n`);
  daemon = await Daemon.start(home, 0);
  browser = await launch();
  page = await browser.newPage({ viewport: WIDE, reducedMotion: "reduce" });
  page.setDefaultTimeout(30_000);
  seen = watch(page);
});

afterAll(async () => {
  await browser?.close();
  await daemon?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const text = (shown: string | RegExp) => page.getByText(shown).first();
const role = (...args: Parameters<Page["getByRole"]>) => page.getByRole(...args);
/** The text of the focused element, or that of its label. */
const focused = () =>
  page.evaluate(() => {
    const element = document.activeElement;
    const label = (element as HTMLInputElement | null)?.labels?.[0];
    return (label ?? element)?.textContent?.trim() || element?.id;
  });

/** Moves the focus with Tab until it is on an element with this text. */
async function tabTo(label: string): Promise<void> {
  for (let presses = 0; presses < 40; presses += 1) {
    if ((await focused()) === label) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`${label} cannot be reached by Tab; the focus is on ${await focused()}`);
}

const shownEvents = () =>
  page.locator("#timeline [data-event]").evaluateAll((lines) => lines.map((line) => line.getAttribute("data-event")));

it("a browser without a login sees how to log in", async () => {
  await page.goto(daemon.url);
  await role("heading", { name: "You are not logged in" }).waitFor();
  await text("wakeful open").waitFor();
  await audit(page);
});

it("the login page opens an empty briefing", async () => {
  await logIn(page, `file://${await daemon.loginPage()}`);
  await text("Nothing needs attention.").waitFor();
  await text("No agents yet").waitFor();
  await text("The model is a demo script.").waitFor();
  const spent = role("region", { name: "Spent today" });
  await spent.getByText("$0.00 of $5.00 (default cap)").waitFor();
  await spent.getByText(/^The cap resets at \d\d:\d\d/).waitFor();
  await audit(page);
});

it("the daily cap is set with the keyboard alone", async () => {
  const spent = role("region", { name: "Spent today" });
  await tabTo("Change cap");
  await page.keyboard.press("Enter");
  const dialog = role("dialog", { name: "Daily cap" });
  await page.keyboard.press("Control+A");
  await page.keyboard.type("2,50");
  await page.keyboard.press("Enter");
  await dialog.getByText(/^Not an amount/).waitFor();
  await audit(page);
  await page.keyboard.press("Control+A");
  await page.keyboard.type("7.25");
  await page.keyboard.press("Enter");
  await dialog.waitFor({ state: "detached" });
  await spent.getByText("$0.00 of $7.25", { exact: true }).waitFor();
  expect(await focused()).toBe("Change cap");
  expect(await role("meter", { name: "Spent today, of the daily cap" }).getAttribute("aria-valuetext")).toBe(
    "$0.00 of $7.25, 0 percent",
  );
  await page.reload();
  await spent.getByText("$0.00 of $7.25", { exact: true }).waitFor();
  await role("button", { name: "Change cap" }).click();
  await role("button", { name: "Use the default" }).click();
  await spent.getByText("$0.00 of $5.00 (default cap)").waitFor();
  await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
  await page.reload();
  // The page handles keys only after it is rendered.
  await spent.getByText("$0.00 of $5.00 (default cap)").waitFor();
});

it("an agent is created and messaged with the keyboard alone", async () => {
  await page.keyboard.press("Tab");
  expect(await focused()).toBe("Skip to content");
  await tabTo("New agent");
  await page.keyboard.press("Enter");
  await role("heading", { name: "New agent" }).waitFor();
  await audit(page);
  await tabTo("Name");
  await page.keyboard.type("gardener");
  await tabTo("Workspace");
  await page.keyboard.type(workspace);
  await page.keyboard.press("Enter");
  await role("heading", { name: "gardener", level: 1 }).waitFor();
  await text("gardener is asleep").waitFor();
  await audit(page);

  // A reload would remove this attribute.
  await page.evaluate(() => document.documentElement.setAttribute("data-mark", "same page"));
  await page.keyboard.press("/");
  await page.keyboard.type("Look around and leave a report");
  await page.keyboard.press("Enter");
  // For a moment the live text and the recorded reply can both be there.
  await page.locator(".turns").getByText("Done. The report is in wakeful-demo-report.md").first().waitFor();
  await page.locator("#runs").getByText("Completed", { exact: true }).waitFor();
  await page.locator(".page-head").getByText("gardener is asleep.").waitFor();
  expect(await page.evaluate(() => document.documentElement.dataset.mark)).toBe("same page");
  expect(await page.locator(".bubble").allInnerTexts()).toEqual(["Look around and leave a report"]);
  await audit(page);
});

it("a reload shows the same conversation", async () => {
  const before = await page.locator(".turns").innerText();
  await page.reload();
  await page.locator(".turns").getByText("Done. The report is in").waitFor();
  const withoutTimes = (shown: string) => shown.replaceAll(/just now|\d+ (s|min) ago/g, "then");
  expect(withoutTimes(await page.locator(".turns").innerText())).toBe(withoutTimes(before));
});

it("an opened tool call shows its command and output", async () => {
  const call = page.locator("details.call").nth(2);
  await call.locator("summary").click();
  await call.getByText("# What is in this folder").waitFor();
  await call.getByText(/^ ?Sandboxed: could write only to its workspace/).waitFor();
  await audit(page);
  await page.setViewportSize({ ...WIDE, height: 1220 });
  await picture(page, join(images, "agent.png"));
  await page.setViewportSize(WIDE);
});

it("a run shows its cause, the rule of each action, and sandboxes", async () => {
  await page.locator("#runs").getByRole("link").first().click();
  await role("heading", { name: "Cause" }).waitFor();
  await text("You sent it").waitFor();
  await text("The lifecycle of the agent allows this").waitFor();
  await page.locator(".confined", { hasText: "Sandboxed" }).first().waitFor();
  const details = page.locator(".step summary", { hasText: "Input and output" }).first();
  await details.click();
  await text(/Allowed by rule registered_tool/).waitFor();
  await text(/Sandboxed: could write only to its workspace/).waitFor();
  await details.click();
  await text("I look at what is in this folder.").waitFor();
  await audit(page);
  await picture(page, join(images, "run.png"));
});

it("an agent shows its model, refuses an unknown one, has a cap", async () => {
  await page.goto(`${daemon.url}/agents/gardener`);
  await page.locator(".page-head").getByText("(default)").waitFor();
  await role("button", { name: "Change model" }).click();
  await page.keyboard.type("unknown/model");
  await page.keyboard.press("Enter");
  await text("Could not change the model.").waitFor();
  await audit(page);
  await page.keyboard.press("Escape");
  const cost = role("region", { name: "Cost" });
  await cost.getByText("$0.00 today, under the cap of all agents").waitFor();
  await cost.getByText("No costs yet.").waitFor();
  await cost.getByRole("button", { name: "Set cap" }).click();
  await page.keyboard.type("1");
  await page.keyboard.press("Enter");
  await cost.getByText("$0.00 today of $1.00 a day").waitFor();
  await audit(page);
  await page.goto(daemon.url);
  await page
    .locator(".agent-card", { hasText: "gardener" })
    .getByText(/^\$0\.00 of \$1\.00 today/)
    .waitFor();
});

it("a round with two attempts shows both with delay, rule and tokens", async () => {
  const runKey = await sendMessage(page, "gardener", { text: "Is the garden open?", model: `scripted:${overloaded}` });
  await page.goto(`${daemon.url}/agents/gardener/runs/${runKey}`);
  await page.locator(".page-head").getByText("Completed", { exact: true }).waitFor();
  const attempts = role("list", { name: "Attempts" });
  await attempts.getByText("attempt 1 of 3").waitFor();
  await attempts.getByText("failed, retried").waitFor();
  await attempts.getByText(/retried after \d+ ms/).waitFor();
  await attempts.getByText("attempt 2 of 3").waitFor();
  await attempts.getByText("succeeded", { exact: true }).waitFor();
  await attempts.getByText(/1,200 input tokens, 40 output tokens/).waitFor();
  expect(await page.locator(".step").count()).toBe(1);
  await audit(page);
});

it("the page reconnects after a restart and shows nothing twice", async () => {
  await page.goto(`${daemon.url}/agents/gardener`);
  await page.getByLabel("debug").check();
  await page.locator("#timeline [data-event='gardener/1']").waitFor();
  const before = await shownEvents();

  await daemon.stop();
  await text(/Connection lost/).waitFor();
  await audit(page);
  daemon = await Daemon.start(home, daemon.port);
  await text(/Connection lost/).waitFor({ state: "detached" });

  await page.locator("#message-box").focus();
  await page.keyboard.type("And");
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.type("once more");
  await page.keyboard.press("Enter");
  // For a moment it can be listed twice: the stream can be faster than the response.
  await page.locator(".bubble").getByText("once more").first().waitFor();
  await expect
    .poll(() => page.locator(".turns").getByText("Done. The report is in").count(), { timeout: 30_000 })
    .toBe(2);
  await page.locator(".page-head").getByText("gardener is asleep.").waitFor();
  await expect.poll(() => page.locator(".bubble").getByText("once more").count()).toBe(1);

  await expect.poll(async () => (await shownEvents()).length).toBeGreaterThan(before.length);
  const after = await shownEvents();
  expect(after).toEqual(after.map((_, index) => `gardener/${after.length - index}`));
  expect(await page.locator(".bubble").allInnerTexts()).toEqual([
    "Look around and leave a report",
    "Is the garden open?",
    "And\nonce more",
  ]);
  await page.getByLabel("info").check();
});

it("a message without a response is sent once when the daemon is back", async () => {
  await daemon.stop();
  await text(/Connection lost/).waitFor();
  await page.locator("#message-box").fill("Are you there?");
  await page.keyboard.press("Enter");
  await text("Not sent yet.").waitFor();
  await audit(page);
  daemon = await Daemon.start(home, daemon.port);
  await text("Not sent yet.").waitFor({ state: "detached" });
  await expect
    .poll(() => page.locator(".turns").getByText("Done. The report is in").count(), { timeout: 30_000 })
    .toBe(3);
  expect(await page.locator(".bubble").getByText("Are you there?").count()).toBe(1);
});

it("live text appears word by word, and its run can be cancelled", async () => {
  const runKey = await sendMessage(page, "gardener", { text: "Take your time", model: `scripted:${slow}` });
  await page.locator(".turn.live").getByText("I go").waitFor();
  await page.goto(`${daemon.url}/agents/gardener/runs/${runKey}`);
  await page.locator(".page-head").getByText("Open", { exact: true }).waitFor();
  await audit(page);
  await role("button", { name: "Cancel run" }).click();
  await page.locator(".page-head").getByText("Cancelled", { exact: true }).waitFor();
});

it("a paused agent queues messages and starts them when resumed", async () => {
  await page.goto(`${daemon.url}/agents/gardener`);
  await role("button", { name: "Pause" }).click();
  await text(/gardener is paused/).waitFor();
  await page.locator("#message-box").fill("Later, then");
  await page.keyboard.press("Enter");
  await text(/^Queued /).waitFor();
  await role("button", { name: "Resume" }).click();
  await text(/^Queued /).waitFor({ state: "detached" });
  await expect
    .poll(() => page.locator(".turns").getByText("Done. The report is in").count(), { timeout: 30_000 })
    .toBe(4);
});

it("the briefing shows what needs attention and recent activity", async () => {
  await sendMessage(page, "gardener", { text: "What will the weather be?", model: `scripted:${failing}` });
  await sendMessage(page, "gardener", { text: "Prune the old branches", deny_tools: ["ExecCommand"] });
  for (const agentId of ["librarian", "scout"]) await createAgent(page, agentId, workspace);
  await sendMessage(page, "librarian", { text: "Put the new papers in order" });
  await sendMessage(page, "scout", { text: "Look for news about seeds", model: `scripted:${slow}` });
  await page.goto(daemon.url);
  const needs = role("region", { name: "Needs attention" });
  await needs.getByText("What will the weather be?").waitFor();
  const happened = role("region", { name: "Recent activity" });
  await happened.getByText("failed at").waitFor();
  const pruning = happened.locator(".story", { hasText: "Prune the old branches" });
  await pruning.getByText("completed").waitFor();
  await pruning.getByText("3 denied").waitFor();
  await happened.locator(".story", { hasText: "Put the new papers in order" }).getByText("completed").waitFor();
  await page.locator(".agent-card", { hasText: "scout" }).locator(".live").waitFor();
  await audit(page);
  await picture(page, join(images, "briefing-light.png"));
  await page.emulateMedia({ colorScheme: "dark", reducedMotion: "reduce" });
  await picture(page, join(images, "briefing-dark.png"));
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });

  const weather = needs.locator(".attention-card", { hasText: "What will the weather be?" });
  await weather.getByRole("link", { name: "View run" }).click();
  await role("heading", { name: "Failure" }).waitFor();
  await audit(page);
  await page.goBack();
  const others = await needs.locator(".attention-card").count();
  await weather.getByRole("button", { name: "Done with this" }).dblclick();
  await needs.locator(".held-card.gone", { hasText: "What will the weather be?" }).waitFor();
  expect(await needs.locator(".held-card.gone").count()).toBe(1);
  await audit(page);
  await page.mouse.move(0, 0);
  await weather.waitFor({ state: "detached" });
  expect(await needs.locator(".attention-card").count()).toBe(others - 1);
  const stop = await page.evaluate(async () => {
    const headers = { "x-wakeful-token": localStorage.getItem("wakeful.token") ?? "" };
    const { runs } = await (await fetch("/api/agents/scout/runs", { headers })).json();
    return (await fetch(`/api/runs/${runs[0].run_key}/cancel`, { method: "POST", headers })).status;
  });
  expect(stop).toBe(200);
  await happened.locator(".story", { hasText: "Look for news about seeds" }).getByText("was cancelled").waitFor();
  await role("button", { name: "Mark all as seen" }).click();
  await role("region", { name: "New activity" }).getByText("Nothing new.").waitFor();
  await page.reload();
  await role("region", { name: "New activity" }).getByText("Nothing new.").waitFor();

  await sendMessage(page, "gardener", { text: "Something new" });
  await role("region", { name: "New activity" }).getByText("completed").waitFor();
  expect(await page.locator(".story").count()).toBe(1);
});

it("the page fits a phone", async () => {
  await page.setViewportSize(PHONE);
  await page.goto(`${daemon.url}/agents/gardener`);
  await page.locator(".turns").waitFor();
  await page.evaluate(() => window.scrollTo(0, 0));
  await picture(page, join(images, "phone.png"));
  await page.setViewportSize(WIDE);
});

it("shortcuts work while no text is typed", async () => {
  await page.locator("h1").click();
  await page.keyboard.press("?");
  await role("dialog", { name: "Keyboard shortcuts" }).waitFor();
  await audit(page);
  await page.keyboard.press("Escape");
  await role("dialog").waitFor({ state: "detached" });
  await page.keyboard.press("/");
  await page.keyboard.type("gb?");
  expect(await page.locator("#message-box").inputValue()).toBe("gb?");
  await page.keyboard.press("Escape");
  await page.keyboard.press("g");
  await page.keyboard.press("b");
  await role("heading", { name: "Briefing", level: 1 }).waitFor();
  expect(new URL(page.url()).pathname).toBe("/");
});

it("the theme can be selected and is stored", async () => {
  await role("button", { name: "Theme: system" }).click();
  await role("button", { name: "Theme: light" }).click();
  await role("button", { name: "Theme: dark" }).waitFor();
  await page.reload();
  await role("button", { name: "Theme: dark" }).waitFor();
  expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe("dark");
});

it("an unknown address and an unknown agent show different errors", async () => {
  await page.goto(`${daemon.url}/somewhere/else`);
  await role("heading", { name: "Page not found" }).waitFor();
  await page.goto(`${daemon.url}/agents/unknown`);
  await text("Could not load unknown.").waitFor();
  await audit(page);
});

it("logging out ends the session", async () => {
  await page.goto(daemon.url);
  await role("button", { name: "Log out" }).click();
  await role("heading", { name: "You are not logged in" }).waitFor();
  await page.reload();
  await role("heading", { name: "You are not logged in" }).waitFor();
});

it("no request left this machine and no page logged an error", () => {
  expect(seen).toEqual({ foreign: [], errors: [] });
});
