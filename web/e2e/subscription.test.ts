// Subscriptions on the page of an agent, changed on the page and on the command line.
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { audit, launch, logIn, type Watch, WIDE, watch } from "./browser";
import { Daemon } from "./daemon";

const folder = mkdtempSync(join(tmpdir(), "wakeful-subscription-"));
const home = join(folder, "home");
const binary = process.env.WAKEFUL_BIN ?? "wakeful";

let daemon: Daemon;
let browser: Browser;
let page: Page;
let seen: Watch;

beforeAll(async () => {
  mkdirSync(home);
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

const role = (...args: Parameters<Page["getByRole"]>) => page.getByRole(...args);

/** Runs a command beside the page. */
async function wakeful(...args: string[]): Promise<Record<string, unknown>> {
  const { stdout } = await promisify(execFile)(binary, [...args, "--home", home, "--json"]);
  return JSON.parse(stdout) as Record<string, unknown>;
}

it("a subscription appears live, is paused, resumed and removed", async () => {
  await wakeful("agent", "create", "gardener");
  await logIn(page, await daemon.loginLink());
  await page.goto(`${daemon.url}/agents/gardener`);
  const panel = role("region", { name: "Subscriptions" });
  await panel.getByText("No subscriptions.").waitFor();
  await wakeful(
    "subscribe",
    "gardener",
    "--on",
    "TASK",
    "--where",
    "status=open",
    "--message",
    "look at the beds",
    "--id",
    "seeds",
  );
  await panel.getByText("on TASK, where status=open").waitFor();
  await panel.getByText("“look at the beds”").waitFor();
  await audit(page);
  await panel.getByRole("button", { name: "Pause seeds" }).click();
  await panel.getByText("paused", { exact: true }).waitFor();
  await audit(page);
  await wakeful("journal", "task", "add", "Weed the beds");
  const refused = async () => (await wakeful("why-not", "gardener")).refused;
  await expect.poll(refused, { timeout: 30_000 }).toMatchObject([{ verdict: "subscription_paused" }]);
  await panel.getByRole("button", { name: "Resume seeds" }).click();
  await panel.getByText("paused", { exact: true }).waitFor({ state: "detached" });
  await role("region", { name: "Why not" })
    .getByText("the subscription is paused; it would have matched")
    .first()
    .waitFor();
  expect(await wakeful("runs", "list", "--agent", "gardener")).toMatchObject({ runs: [] });
  await panel.getByRole("button", { name: "Remove seeds" }).click();
  await role("dialog", { name: "Remove subscription seeds" }).waitFor();
  await audit(page);
  await role("button", { name: "Remove subscription" }).click();
  await panel.getByText("No subscriptions.").waitFor();
});

it("no request left this machine and no page logged an error", () => {
  expect(seen).toEqual({ foreign: [], errors: [] });
});
