// The first hour with Wakeful, done on the page alone: create an agent, chat, handle a failure, approve, brake, survive
// a crash, find a run again. Prints the clicks, fields, keys and milliseconds of each task.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { launch, logIn, type Watch, WIDE, watch } from "./browser";
import { Daemon } from "./daemon";
import { effortTable, Person } from "./effort";
import { sendMessage } from "./requests";

const folder = mkdtempSync(join(tmpdir(), "wakeful-hour-"));
const home = join(folder, "home");
const workspace = join(folder, "garden");
const script = (name: string) => `scripted:${join(folder, name)}.yaml`;

/** The runs among which one is searched. */
const RUNS = 30;

let daemon: Daemon;
let browser: Browser;
let page: Page;
let person: Person;
let seen: Watch;

/** Writes what the model of this name answers from now on. */
const answers = (name: string, rounds: unknown[]) =>
  writeFileSync(join(folder, `${name}.yaml`), JSON.stringify({ rounds }));

beforeAll(async () => {
  mkdirSync(home);
  mkdirSync(workspace);
  answers("usual", [{ text: "Good morning. The beans are up." }]);
  answers("other", [{ text: "It stays dry until Friday." }]);
  writeFileSync(join(home, "config.toml"), `[model]\ndefault = "${script("usual")}"\n`);
  daemon = await Daemon.start(home, 0);
  browser = await launch();
  page = await browser.newPage({ viewport: WIDE, reducedMotion: "reduce" });
  page.setDefaultTimeout(20_000);
  seen = watch(page);
  await logIn(page, await daemon.loginLink());
  await role("heading", { name: "Briefing", level: 1 }).waitFor();
  person = new Person(page);
});

afterAll(async () => {
  await browser?.close();
  await daemon?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const role = (...args: Parameters<Page["getByRole"]>) => page.getByRole(...args);
const turns = (shown: string | RegExp) => page.locator(".turns").getByText(shown);
const field = (name: string) => page.getByLabel(name, { exact: true });

async function say(text: string): Promise<void> {
  await person.fill(page.locator("#message-box"), text);
  await person.press("Enter");
}

it("creates an agent that asks before commands", () =>
  person.task("create", async () => {
    await person.click(role("link", { name: "Create your first agent" }));
    await person.fill(field("Name"), "gardener");
    await person.fill(field("Workspace"), workspace);
    await person.click(page.getByText("No tool asks each time"));
    await person.click(role("group", { name: "Ask before using" }).getByLabel("ExecCommand"));
    await person.click(role("button", { name: "Create agent" }));
    await role("heading", { name: "gardener", level: 1 }).waitFor();
  }));

it("sends a message and reads the answer", () =>
  person.task("chat", async () => {
    await say("How is the garden?");
    await turns("Good morning. The beans are up.").first().waitFor();
  }));

it("reads why a run failed and runs it again with another model", async () => {
  answers("usual", [{ fail: { status: 401 } }]);
  await person.task("fail", async () => {
    await say("Will it rain this week?");
    const end = page.locator(".run-end");
    await end.getByText("Failed", { exact: true }).waitFor();
    await end.getByText(/refused the API key/).waitFor();
    await person.click(end.getByRole("button", { name: "Change model" }));
    await person.fill(role("dialog").getByLabel("Model"), script("other"));
    await person.click(role("button", { name: "Use this model" }));
    await role("dialog").waitFor({ state: "detached" });
    await person.click(end.getByRole("button", { name: "Run again" }));
    await turns("It stays dry until Friday.").first().waitFor();
  });
});

it("approves a command and sees its result", async () => {
  const act = { name: "ExecCommand", input: { cmd: "echo watered | tee beds.txt" } };
  answers("other", [{ text: "I water the beds.", tools: [act] }, { text: "All beds are wet." }]);
  await person.task("approve", async () => {
    await say("Water the beds");
    await person.click(role("button", { name: "Approve" }));
    await turns("All beds are wet.").first().waitFor();
    await person.click(page.locator("details.call summary").last());
    await page.locator("details.call").last().getByText("watered", { exact: true }).waitFor();
  });
  expect(readFileSync(join(workspace, "beds.txt"), "utf8")).toBe("watered\n");
});

it("brakes all agents: nothing starts until the release", async () => {
  answers("other", [{ text: "The gate is shut." }]);
  await person.task("brake", async () => {
    await person.click(role("button", { name: "Brake all" }));
    await person.click(role("button", { name: "Brake all agents" }));
    await page.getByText("All agents are braked").first().waitFor();
    await say("Shut the gate");
    await turns(/^Queued /).waitFor();
    await page
      .getByText(/gardener is braked/)
      .first()
      .waitFor();
    expect(await turns("The gate is shut.").count()).toBe(0);
    await person.click(role("button", { name: "All braked" }));
    await person.click(role("button", { name: "Release all agents" }));
    await turns("The gate is shut.").first().waitFor();
  });
});

it("sees a run finish after the daemon was killed and started again", async () => {
  answers("other", [{ text: "One bed, two beds, three beds: all are counted.", delay_ms: 2_000 }]);
  await page.locator(".page-head").getByText("gardener is asleep.").waitFor();
  await person.task("kill", async () => {
    await say("Count the beds");
    await page.locator(".turn.live").getByText("One bed").waitFor();
    await daemon.stop("SIGKILL");
    await page
      .getByText(/Connection lost/)
      .first()
      .waitFor();
    daemon = await Daemon.start(home, daemon.port);
    await page.locator(".page-head").getByText("gardener is asleep.").waitFor();
    await turns("all are counted.").first().waitFor();
  });
  expect(person.efforts.at(-1)?.loads).toBe(0);
  await expect.poll(() => turns("all are counted.").count()).toBe(1);
});

it(`finds an early run again by words among ${RUNS} runs`, async () => {
  answers("other", [{ text: "Noted." }]);
  const early = "Order the tulip bulbs before the autumn";
  await sendMessage(page, "gardener", { text: early });
  for (let index = 7; index < RUNS; index += 1)
    await sendMessage(page, "gardener", { text: `Write down the weather of day ${index}` });
  const newest = page.locator(".run-row", { hasText: `day ${RUNS - 1}` });
  await newest.getByText("Completed", { exact: true }).waitFor();
  await person.task("find again", async () => {
    await person.click(role("link", { name: "Runs", exact: true }).first());
    await person.fill(field("Search"), "tulip");
    const rows = role("table", { name: "Runs" }).locator("tbody tr");
    await expect.poll(() => rows.count()).toBe(1);
    await person.click(rows.getByRole("link", { name: early }));
    await role("heading", { name: `“${early}”` }).waitFor();
  });
});

it("no task needed a load of the page, and no page logged an error", () => {
  console.log(effortTable(person.efforts));
  expect(person.efforts.map((one) => one.task)).toEqual([
    "create",
    "chat",
    "fail",
    "approve",
    "brake",
    "kill",
    "find again",
  ]);
  expect(person.efforts.reduce((loads, one) => loads + one.loads, 0)).toBe(0);
  expect(seen).toEqual({ foreign: [], errors: [] });
});
