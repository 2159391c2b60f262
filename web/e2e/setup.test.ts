// Set-up from the page: agents, schedules, sources, triggers, providers, settings; and the list of runs.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { audit, launch, logIn, PHONE, type Watch, WIDE, watch } from "./browser";
import { Daemon } from "./daemon";
import { sendMessage } from "./requests";

const folder = mkdtempSync(join(tmpdir(), "wakeful-setup-"));
const home = join(folder, "home");
const workspace = join(folder, "garden");
const notes = join(folder, "notes");

let daemon: Daemon;
let browser: Browser;
let page: Page;
let seen: Watch;

beforeAll(async () => {
  for (const path of [home, workspace, notes]) mkdirSync(path);
  daemon = await Daemon.start(home, 0);
  browser = await launch();
  page = await browser.newPage({ viewport: WIDE, reducedMotion: "reduce" });
  page.setDefaultTimeout(30_000);
  seen = watch(page);
  await logIn(page, await daemon.loginLink());
});

afterAll(async () => {
  await browser?.close();
  await daemon?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const text = (shown: string | RegExp) => page.getByText(shown).first();
const role = (...args: Parameters<Page["getByRole"]>) => page.getByRole(...args);
const field = (name: string) => page.getByLabel(name, { exact: true });

it("every page of an empty home says what to do first", async () => {
  for (const [path, shown] of [
    ["/runs", "No runs yet"],
    ["/schedules", "No schedules yet"],
    ["/setup", "No agents yet"],
    ["/setup/triggers", "No agents yet"],
    ["/setup/sources", "No sources yet"],
    ["/setup/secrets", "No secrets yet"],
  ] as const) {
    await page.goto(daemon.url + path);
    await text(shown).waitFor();
    await audit(page);
  }
});

it("an agent is created with everything and found after a reload", async () => {
  await page.goto(`${daemon.url}/setup`);
  await role("link", { name: "New agent" }).click();
  await field("Description").fill("Waters the garden");
  await field("Instructions").fill("Water the beds.\nReport what is dry.");
  await text("35 of 32,768 bytes").waitFor();
  await role("button", { name: "Create agent" }).click();
  await text(/^Enter a name/).waitFor();
  await audit(page);
  await field("Name").fill("gardener");
  await field("Model").fill("demo");
  await field("Daily cap in dollars").fill("1.50");
  await field("Rounds of a run at most").fill("20");
  await field("Workspace").fill(workspace);
  await text("No tool asks each time").click();
  await role("group", { name: "Ask before using" }).getByLabel("ExecCommand").check();
  await field("Wake it on a schedule").check();
  await field("Message").fill("Water everything");
  await field("Wake it on changes").check();
  await field("Any of these").fill("TASK");
  // A wrong click on the header loses nothing.
  await role("link", { name: "Briefing" }).click();
  await page.goBack();
  await text("Unsaved changes.").waitFor();
  expect(await field("Instructions").inputValue()).toBe("Water the beds.\nReport what is dry.");
  await audit(page);
  await role("button", { name: "Create agent" }).click();
  await role("heading", { name: "gardener", level: 1 }).waitFor();
  await role("region", { name: "Subscriptions" }).getByText("on TASK").waitFor();

  await page.goto(`${daemon.url}/setup/agents/gardener`);
  await page.reload();
  await role("heading", { name: "Edit gardener" }).waitFor();
  expect(await field("Description").inputValue()).toBe("Waters the garden");
  expect(await field("Instructions").inputValue()).toBe("Water the beds.\nReport what is dry.");
  expect(await field("Daily cap in dollars").inputValue()).toMatch(/^1\.50?$/);
  expect(await field("Rounds of a run at most").inputValue()).toBe("20");
  expect(await field("Workspace").inputValue()).toBe(workspace);
  await text("1 tool asks each time").click();
  expect(await role("group", { name: "Ask before using" }).getByLabel("ExecCommand").isChecked()).toBe(true);
  await audit(page);
});

it("an agent is edited, and an error is shown beside its field", async () => {
  await field("Model").fill("unknown/model");
  await role("button", { name: "Save" }).click();
  await page.locator(".field", { hasText: "Model" }).locator(".wrong").first().waitFor();
  await audit(page);
  await field("Model").fill("");
  await role("group", { name: "Ask before using" }).getByLabel("ExecCommand").uncheck();
  await field("Description").fill("Waters and weeds");
  await page.getByLabel(/^Restrictive/).check();
  await text("Files, hosts, ports and secrets").click();
  await page.getByLabel(/^Published ports/).fill("80800");
  await role("button", { name: "Save" }).click();
  await text("Write one port from 1 to 65535 on each line.").waitFor();
  await audit(page);
  await page.getByLabel(/^Published ports/).fill("8080");
  await role("button", { name: "Save" }).click();
  await text(/^Saved\./).waitFor();
  await page.reload();
  await role("heading", { name: "Edit gardener" }).waitFor();
  expect(await field("Description").inputValue()).toBe("Waters and weeds");
  expect(await field("Model").inputValue()).toBe("");
  expect(await page.getByLabel(/^Published ports/).inputValue()).toBe("8080");
  expect(await page.getByLabel(/^Restrictive/).isChecked()).toBe(true);
  await page.getByLabel(/^Standard/).check();
  await role("button", { name: "Save" }).click();
  await text(/^Saved\./).waitFor();
  await page.goto(`${daemon.url}/setup`);
  await text("Waters and weeds").waitFor();
  await audit(page);
});

it("a schedule that would always be skipped is created with a note", async () => {
  await page.goto(`${daemon.url}/schedules`);
  await text("“Water everything”").waitFor();
  await role("button", { name: "New schedule" }).click();
  const dialog = role("dialog", { name: "New schedule" });
  await audit(page);
  await dialog.getByRole("radio", { name: "Cron" }).check();
  await dialog.getByLabel("Cron pattern").fill("0 9 * * 1-5");
  await dialog.getByLabel("Time zone").fill("Europe/Berlin");
  await dialog.getByLabel("Only if something changed").check();
  await dialog.getByLabel("Name").fill("morning");
  await role("button", { name: "Create schedule" }).click();
  await dialog.getByText("Enter a message.").waitFor();
  await dialog.getByLabel("Message", { exact: true }).fill("Good morning");
  await role("button", { name: "Create schedule" }).click();
  await text(/^Schedule morning is saved\. ./).waitFor();
  await text("Monday to Friday at 09:00 (Europe/Berlin)").waitFor();
  await page.locator(".entry", { hasText: "morning" }).getByRole("note").waitFor();
  await audit(page);
});

it("a schedule runs now, is paused, edited and disabled", async () => {
  const row = page.locator(".entry", { hasText: "morning" });
  await row.getByRole("button", { name: "Run now morning" }).dblclick();
  await row.getByText(/^Last .*completed/).waitFor();
  await row.getByRole("button", { name: "History morning" }).click();
  await row.getByRole("list", { name: "History" }).getByRole("link", { name: "View run" }).waitFor();
  expect(await row.getByRole("list", { name: "History" }).getByRole("listitem").count()).toBe(1);
  await audit(page);
  await row.getByRole("button", { name: "Pause morning" }).click();
  await row.getByText("paused", { exact: true }).waitFor();
  await row.getByRole("button", { name: "Resume morning" }).click();
  await row.getByText("active", { exact: true }).waitFor();
  await row.getByRole("button", { name: "Edit morning" }).click();
  await role("dialog").getByLabel("Message", { exact: true }).fill("Good evening");
  await role("button", { name: "Save" }).click();
  await row.getByText("“Good evening”").waitFor();
  await row.getByRole("button", { name: "Disable morning" }).click();
  await role("button", { name: "Disable schedule" }).click();
  await role("button", { name: "Show 1 ended schedule" }).click();
  await row.getByText("disabled", { exact: true }).waitFor();
});

it("runs are searched and filtered, and the address keeps the filters", async () => {
  await sendMessage(page, "gardener", { text: "Count the tomatoes" });
  await page.goto(`${daemon.url}/runs`);
  const rows = role("table", { name: "Runs" }).locator("tbody tr");
  await rows.filter({ hasText: "Count the tomatoes" }).getByText("Completed").waitFor();
  await audit(page);
  await field("Search").fill("TOMATOES");
  await rows.filter({ hasText: "Good morning" }).waitFor({ state: "detached" });
  expect(await rows.count()).toBe(1);
  expect(new URL(page.url()).searchParams.get("search")).toBe("TOMATOES");
  await page.reload();
  await rows.filter({ hasText: "Count the tomatoes" }).waitFor();
  expect(await rows.count()).toBe(1);
  await page.getByLabel(/^Failed/).check();
  await text("No run matches").waitFor();
  await audit(page);
  await role("button", { name: "Clear filters" }).click();
  await field("Cause").selectOption("schedule");
  await rows.filter({ hasText: "Count the tomatoes" }).waitFor({ state: "detached" });
  await rows.filter({ hasText: "Good morning" }).waitFor();
});

it("a step shows input and output, and run again makes one run", async () => {
  await page.goto(`${daemon.url}/runs?search=tomatoes`);
  await role("link", { name: "Count the tomatoes" }).click();
  await text("Input and output").first().click();
  const detail = role("group", { name: "Input and output of ExecCommand" });
  await detail.locator("pre").first().waitFor();
  await audit(page);
  await role("button", { name: "Run again", exact: true }).click();
  await role("dialog", { name: "Run again" }).getByLabel("Message").fill("Count the beans");
  await audit(page);
  const first = page.url();
  await role("dialog").getByRole("button", { name: "Run again" }).dblclick();
  await role("heading", { name: "“Count the beans”" }).waitFor();
  expect(page.url()).not.toBe(first);
  await page.locator(".page-head").getByText("Completed", { exact: true }).waitFor();
  await role("region", { name: "Related runs" }).getByText("Runs again").waitFor();
  await role("button", { name: /^Run again from here: step 2/ }).click();
  await role("dialog", { name: "Run again from here" }).getByLabel("Message to add").fill("Count twice");
  await audit(page);
  const second = page.url();
  await role("dialog").getByRole("button", { name: "Run again from here" }).click();
  await role("dialog").waitFor({ state: "detached" });
  await page.waitForURL((url) => url.href !== second);
  await page.locator(".page-head").getByText("Completed", { exact: true }).waitFor();
  await page.goto(`${daemon.url}/runs?search=beans`);
  await text("Count the beans").first().waitFor();
  expect(await role("table", { name: "Runs" }).locator("tbody tr").count()).toBe(1);
});

it("a folder is watched, scanned and removed", async () => {
  await page.goto(`${daemon.url}/setup/sources`);
  await role("button", { name: "Add source" }).click();
  await field("Path").fill("notes");
  await role("dialog").getByRole("button", { name: "Add source" }).click();
  await text(/^Enter an absolute path/).waitFor();
  await audit(page);
  await field("Path").fill(notes);
  await field("Name").fill("notes");
  await role("dialog").getByRole("button", { name: "Add source" }).click();
  const row = page.locator(".entry", { hasText: notes });
  await row.getByText("0 files").waitFor();
  await row.getByRole("button", { name: "Scan now notes" }).click();
  await row.getByText("0 changes found.").waitFor();
  await audit(page);
  await row.getByRole("button", { name: "Remove notes" }).click();
  await role("button", { name: "Remove source" }).click();
  await text("No sources yet").waitFor();
});

it("a trigger is shown, rotated and revoked", async () => {
  await page.goto(`${daemon.url}/setup/triggers`);
  await role("button", { name: "Show URL of gardener" }).click();
  const url = page.locator(".secret code");
  const first = await url.innerText();
  expect(first.startsWith(`${daemon.url}/`)).toBe(true);
  await audit(page);
  await role("button", { name: "Rotate of gardener" }).click();
  await role("button", { name: "Rotate URL" }).click();
  await role("dialog").waitFor({ state: "detached" });
  expect(await url.innerText()).not.toBe(first);
  await role("button", { name: "Revoke of gardener" }).click();
  await role("button", { name: "Revoke trigger" }).click();
  await text("revoked").waitFor();
  expect(await url.count()).toBe(0);
});

it("a key is stored without a test and never shown", async () => {
  await page.goto(`${daemon.url}/setup/providers`);
  await role("button", { name: "Set key openai", exact: true }).click();
  await field("Key").fill("sk-not-a-real-key");
  await field("Store it without a test").check();
  await audit(page);
  await role("button", { name: "Store key" }).click();
  const row = page.locator(".entry", { has: page.getByRole("heading", { name: "openai", exact: true }) });
  await row.getByText("key found").waitFor();
  expect(await page.content()).not.toContain("sk-not-a-real-key");
  await row.getByRole("button", { name: "Remove key openai" }).click();
  await role("dialog").getByRole("button", { name: "Remove key" }).click();
  await row.getByText("key missing").waitFor();
  await audit(page);
});

it("a provider with its own address is added, and an existing one is not changed", async () => {
  await page.goto(`${daemon.url}/setup/providers`);
  for (const address of ["https://models.example.org/v1", "https://elsewhere.example.org/v1"]) {
    await role("button", { name: "Add provider" }).click();
    await field("Name").fill("work");
    await field("Base URL").fill(address);
    await field("Add it without a test").check();
    await audit(page);
    await role("dialog").getByRole("button", { name: "Add provider" }).click();
    await text(/work is added|There is a provider work already/i).waitFor();
    await audit(page);
    await page.keyboard.press("Escape");
  }
  await text("https://models.example.org/v1").waitFor();
  expect(await text("https://elsewhere.example.org/v1").count()).toBe(0);
});

it("a setting is found, refuses a wrong value, and is changed", async () => {
  await page.goto(`${daemon.url}/setup/settings`);
  await field("Search settings").fill("budget.daily_usd");
  await audit(page);
  await role("button", { name: "Change budget.daily_usd" }).click();
  await field("Value").fill("a lot");
  await role("button", { name: "Save" }).click();
  await page.locator("dialog .wrong").waitFor();
  await audit(page);
  await field("Value").fill("3.25");
  await role("button", { name: "Save" }).click();
  await role("dialog").waitFor({ state: "detached" });
  await role("row", { name: /budget.daily_usd/ })
    .getByText("3.25")
    .waitFor();
});

it("a phone has one menu, which the keyboard opens and closes", async () => {
  await page.setViewportSize(PHONE);
  const menu = role("button", { name: "Menu" });
  await menu.focus();
  await page.keyboard.press("Enter");
  await role("link", { name: "Schedules" }).waitFor();
  await page.keyboard.press("Escape");
  await role("link", { name: "Schedules" }).waitFor({ state: "hidden" });
  await page.keyboard.press("Enter");
  await role("link", { name: "Schedules" }).click();
  await role("heading", { name: "Schedules", level: 1 }).waitFor();
  expect(await menu.getAttribute("aria-expanded")).toBe("false");
  await page.setViewportSize(WIDE);
});

it("no request left this machine and no page logged an error", () => {
  expect(seen).toEqual({ foreign: [], errors: [] });
});
