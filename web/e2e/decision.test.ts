// A person asks for something risky, closes the laptop, answers on the page the next day, and the act happens once.
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

const place = mkdtempSync(join(tmpdir(), "wakeful-decision-"));
const home = join(place, "home");
const workspace = join(place, "garden");
const world = join(workspace, "world.txt");
const script = join(place, "risky.yaml");
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
  rmSync(place, { recursive: true, force: true });
});

const role = (...args: Parameters<Page["getByRole"]>) => page.getByRole(...args);
const needsYou = () => role("region", { name: "Needs you" });
const happened = () => (existsSync(world) ? readFileSync(world, "utf8").trim().split("\n") : []);

/** The command line, as somebody in a terminal beside the page. */
async function wakeful(...args: string[]): Promise<Record<string, unknown>> {
  const { stdout } = await promisify(execFile)(binary, [...args, "--home", home, "--json"]);
  return JSON.parse(stdout) as Record<string, unknown>;
}

/** Something that can be waited for until somebody says so. */
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
  it("stops everything from the header, says so on every page, and is released there", async () => {
    await role("button", { name: "Brake all" }).click();
    await role("dialog", { name: "Stop everything" }).waitFor();
    await audit(page);
    await page.getByLabel(/^Why/).fill("I want to look first");
    await role("button", { name: "Stop everything" }).click();
    await page.getByText("All agents are braked").first().waitFor();
    await page.getByText("“I want to look first”").first().waitFor();
    await audit(page);
    expect(await wakeful("brake", "status")).toMatchObject({
      is_on: true,
      brakes: [{ channel: "page", reason: "I want to look first" }],
    });
    await page.goto(`${daemon.url}/agents/gardener`);
    await page.getByText("gardener is braked").waitFor();
    await audit(page);
    await wakeful("brake", "off");
    await page.getByText("gardener sleeps").waitFor();
    await role("button", { name: "Brake all" }).waitFor();
  });

  it("stops one agent alone", async () => {
    await role("button", { name: "Brake", exact: true }).click();
    await role("button", { name: "Stop gardener" }).click();
    await page.getByText("gardener is braked").waitFor();
    expect(await wakeful("brake", "status")).toMatchObject({ is_on: false, brakes: [{ agent_id: "gardener" }] });
    await role("button", { name: "Release the brake" }).click();
    await role("button", { name: "Release gardener" }).click();
    await page.getByText("gardener sleeps").waitFor();
    await page.goto(daemon.url);
    await needsYou().getByText("Nothing needs you.").waitFor();
  });
});

describe("what stands at the top of the briefing", () => {
  it("can be read and used by everybody, however much there is of it", async () => {
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
    const aside = {
      run_key: "c".repeat(64),
      agent_id: "gardener",
      status: "quarantined",
      transitions: 4,
      started_at: "2026-01-01T00:00:00Z",
      preview: "Clear the bed",
      fault: "its state cannot be read",
    };
    const whole = { ...question, input: `rm -r ${"build/".repeat(600)}`, is_input_cut: false };
    await page.route(/\/api\/decisions\/d+$/, (route) => route.fulfill({ json: whole }));
    await page.route(/\/api\/decisions$/, (route) =>
      route.fulfill({ json: { decisions: [question], pending_count: 1 } }),
    );
    await page.route(/\/api\/runs\?state=quarantined/, (route) => route.fulfill({ json: { runs: [aside] } }));
    await page.goto(daemon.url);
    await needsYou().getByRole("button", { name: "Leave it (recommended)" }).waitFor();
    await needsYou().getByRole("button", { name: "Try it again" }).waitFor();
    await needsYou().getByText(`These are all ${whole.input.length} characters of it.`).waitFor();
    await needsYou().getByText("This page may not answer it.").waitFor();
    expect(await needsYou().getByRole("button", { name: "Leave it (recommended)" }).isDisabled()).toBe(true);
    await audit(page);
    await page.goto(`${daemon.url}/agents/gardener`);
    await role("region", { name: "Waits for your decision" }).waitFor();
    await audit(page);
    await page.unrouteAll({ behavior: "wait" });
    await page.goto(daemon.url);
    await needsYou().getByText("Nothing needs you.").waitFor();
  });
});

describe("a decision", () => {
  it("a run that asks stands at the top of the briefing, live, and nothing has happened", async () => {
    await send("Clear the bed");
    await needsYou().getByRole("heading", { name: "May ExecCommand be used?" }).waitFor();
    await needsYou().getByText("echo cleared >> world.txt").waitFor();
    expect(await page.title()).toContain("(1)");
    await audit(page);
    expect(happened()).toEqual([]);
  });

  it("it waits while the laptop is closed", async () => {
    const { port } = daemon;
    await daemon.stop();
    daemon = await Daemon.start(home, port);
    await page.reload();
    await needsYou().getByRole("button", { name: "Approve" }).waitFor();
    expect(happened()).toEqual([]);
  });

  it("the answer on the page lets the act happen, once", async () => {
    await needsYou().getByLabel(/^Note/).fill("only this bed");
    await needsYou().getByRole("button", { name: "Approve" }).click();
    await needsYou().getByText("Nothing needs you.").waitFor();
    await page.getByText("The bed is clear.").first().waitFor();
    expect(happened()).toEqual(["cleared"]);
    const { decisions } = (await wakeful("decision", "list", "--all")) as { decisions: { answer: unknown }[] };
    expect(decisions.map((one) => one.answer)).toMatchObject([
      { option: "approve", channel: "page", note: "only this bed" },
    ]);
  });

  it("all of a long command is there before it can be permitted, and it is what is done", async () => {
    const long = join(place, "long.yaml");
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
    await needsYou().getByText("echo the-tail >> world.txt").waitFor();
    expect(await needsYou().getByLabel("What it would be given").textContent()).toContain(
      `"cmd":"${harmless}echo the-tail >> world.txt"`,
    );
    await audit(page);
    await needsYou().getByRole("button", { name: "Approve" }).click();
    await needsYou().getByText("Nothing needs you.").waitFor();
    await page.getByText("It is done.").first().waitFor();
    expect(happened()).toEqual(["cleared", "the-tail"]);
  });

  it("a question on the run's own page goes away when somebody answers elsewhere, and no means no", async () => {
    const { run_key: runKey } = await send("Clear the other bed");
    await page.goto(`${daemon.url}/agents/gardener/runs/${runKey}`);
    const region = role("region", { name: "Waits for your decision" });
    await region.getByRole("button", { name: "Deny" }).waitFor();
    await audit(page);
    const { decisions } = (await wakeful("decision", "list")) as { decisions: { decision_id: string }[] };
    await wakeful("decision", "answer", decisions[0]?.decision_id ?? "", "deny", "--note", "not that one");
    await region.waitFor({ state: "detached" });
    await page.locator(".page-head").getByText("Done").waitFor();
    expect(happened()).toEqual(["cleared", "the-tail"]);
  });

  it.each([
    ["the questions", /\/api\/decisions$/],
    ["where its stream begins", /\/api\/events\?limit=/],
  ])(
    "asked while the page reads %s is not missed, and nobody is told before that nothing waits",
    async (what, address) => {
      const [read, held] = [signal(), signal()];
      // The page before this one asks for nothing any more.
      await page.goto(`${daemon.url}/healthz`);
      await page.route(
        address,
        async (route) => {
          // The questions are read before this one is asked, the stream begins after it.
          const early = what === "the questions" ? await route.fetch() : undefined;
          read.give();
          await held.given;
          await (early ? route.fulfill({ response: early }) : route.continue());
        },
        { times: 1 },
      );
      const answered = page.waitForResponse(/\/api\/runtime\/status$/);
      await page.goto(daemon.url);
      await Promise.all([read.given, answered]);
      expect(await page.getByText("Nothing needs you.").count()).toBe(0);
      const { run_key } = await send(`Clear the bed while it reads ${what}`);
      await expect
        .poll(async () => ((await wakeful("decision", "list")) as { pending_count: number }).pending_count)
        .toBe(1);
      // Where the stream is there, it has told of the question before the old answer comes.
      if (what === "the questions") await page.getByText("Asks you").first().waitFor();
      held.give();
      await needsYou().getByRole("heading", { name: "May ExecCommand be used?" }).waitFor();
      await wakeful("runs", "cancel", run_key);
      await needsYou().getByText("Nothing needs you.").waitFor();
    },
  );
});

it("no request left this machine and no page made a mistake", () => {
  expect(seen).toEqual({ foreign: [], errors: [] });
});
