// How browsers log in, are listed and are revoked.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { audit, launch, logIn, type Watch, WIDE, watch } from "./browser";
import { Daemon } from "./daemon";

const folder = mkdtempSync(join(tmpdir(), "wakeful-login-"));
const home = join(folder, "home");

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

const text = (shown: string | RegExp) => page.getByText(shown).first();
const role = (...args: Parameters<Page["getByRole"]>) => page.getByRole(...args);

it("an expired login link shows an error", async () => {
  await page.goto(`${daemon.url}/login#code=${"0".repeat(64)}`);
  await text("Could not log in with this link.").waitFor();
  await audit(page);
});

it("logins are listed, and another browser is revoked at once", async () => {
  await logIn(page, `file://${await daemon.loginPage()}`);
  const context = await browser.newContext();
  const other = await context.newPage();
  await logIn(other, await daemon.loginLink());
  await other.getByText("Nothing needs attention.").waitFor();
  expect(other.url()).toBe(`${daemon.url}/`);
  await role("button", { name: "Logged-in browsers" }).click();
  const dialog = role("dialog", { name: "Logged-in browsers" });
  await dialog.getByText("this browser").waitFor();
  const rows = dialog.getByRole("listitem");
  expect(await rows.count()).toBe(2);
  await audit(page);
  await rows.filter({ hasNotText: "this browser" }).getByRole("button").click();
  await rows.filter({ hasNotText: "this browser" }).waitFor({ state: "detached" });
  await other.getByRole("heading", { name: "You are not logged in" }).waitFor();
  await context.close();
  await page.keyboard.press("Escape");
});

it("a browser without its token sees how to log in", async () => {
  const token = await page.evaluate(() => localStorage.getItem("wakeful.token"));
  await page.evaluate(() => localStorage.removeItem("wakeful.token"));
  await page.reload();
  await role("heading", { name: "You are not logged in" }).waitFor();
  await text("wakeful open").waitFor();
  await page.evaluate((token) => localStorage.setItem("wakeful.token", token as string), token);
  await page.reload();
  await role("button", { name: "Log out" }).waitFor();
});

it("no request left this machine and no page logged an error", () => {
  expect(seen).toEqual({ foreign: [], errors: [] });
});
