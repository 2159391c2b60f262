// Starts the browser, and checks every page for foreign requests, errors and accessibility.
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { AxeResults } from "axe-core";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { expect } from "vitest";

const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export const WIDE = { width: 1280, height: 860 };
export const PHONE = { width: 360, height: 740 };

/** The height and width that a finger can hit, in CSS pixels. */
const TOUCH_PX_MIN = 40;

export function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });
}

/** Opens a login link, or a file that redirects to one, and waits until the page is logged in. */
export async function logIn(page: Page, address: string): Promise<void> {
  if (process.env.PAGE_DIST) await servePage(page.context(), process.env.PAGE_DIST);
  await page.goto(address);
  await page.waitForFunction(() => location.protocol === "http:" && localStorage.getItem("wakeful.token") !== null);
}

/** Serves the files of the build in PAGE_DIST instead of those in the program, which then need not be built again. */
async function servePage(context: BrowserContext, from: string): Promise<void> {
  await context.route(/^http:\/\/127\.0\.0\.1:\d+\/(?!api|healthz|readyz)/, async (route) => {
    const { pathname } = new URL(route.request().url());
    const file = join(from, pathname);
    const isAsset = pathname.startsWith("/assets/") && existsSync(file);
    const contentType = { js: "text/javascript", css: "text/css", svg: "image/svg+xml" }[
      pathname.split(".").at(-1) ?? ""
    ];
    if (route.request().method() !== "GET") await route.continue();
    else if (isAsset) await route.fulfill({ body: readFileSync(file), contentType });
    else await route.fulfill({ response: await route.fetch(), body: readFileSync(join(from, "index.html")) });
  });
}

/** Requests to other hosts, and errors of the page. */
export interface Watch {
  foreign: string[];
  errors: string[];
}

export function watch(page: Page): Watch {
  const seen: Watch = { foreign: [], errors: [] };
  page.on("request", (request) => {
    const { protocol, hostname } = new URL(request.url());
    // A login page is a file on this machine.
    if (protocol !== "data:" && protocol !== "file:" && hostname !== "127.0.0.1") seen.foreign.push(request.url());
  });
  page.on("pageerror", (error) => seen.errors.push(error.message));
  page.on("console", (message) => {
    // The browser logs a stopped daemon and a missing login as errors, and the tests cause both.
    const isExpected = /Failed to load resource|ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING/.test(
      message.text(),
    );
    if (message.type() === "error" && !isExpected) seen.errors.push(message.text());
  });
  return seen;
}

/** Takes a screenshot after a change of size or theme is painted, and the buttons that it moved accept clicks again. */
export async function picture(page: Page, path: string): Promise<void> {
  await page.waitForFunction(() => document.querySelector('[aria-disabled="true"]') === null);
  await page.evaluate(() => new Promise((painted) => requestAnimationFrame(() => requestAnimationFrame(painted))));
  await page.screenshot({ path });
}

/** Checks the page in both themes and both sizes: no accessibility violation, no overflow, and no small target on a phone. */
export async function audit(page: Page): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    for (const viewport of [WIDE, PHONE]) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await page.setViewportSize(viewport);
      const found = await violations(page);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      const where = `${page.url()} ${colorScheme} ${viewport.width}`;
      const small = viewport === PHONE ? await smallTargets(page) : [];
      expect({ where, found, overflow: Math.max(0, overflow), small }).toEqual({
        where,
        found: [],
        overflow: 0,
        small: [],
      });
    }
  }
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
  await page.setViewportSize(WIDE);
}

/** Buttons, fields and links of lists that are too small for a finger. Links inside sentences may be smaller. */
async function smallTargets(page: Page): Promise<string[]> {
  return page.evaluate((min) => {
    const targets =
      "button, summary, input:not([type=radio], [type=checkbox], [hidden]), textarea, select, nav a, .switch label";
    return [...document.querySelectorAll<HTMLElement>(targets)]
      .filter((one) => one.checkVisibility())
      .filter((one) => one.getBoundingClientRect().height < min - 0.5)
      .map((one) => `${one.tagName} ${one.textContent?.trim() || one.getAttribute("aria-label")} ${one.offsetHeight}`);
  }, TOUCH_PX_MIN);
}

async function violations(page: Page): Promise<string[]> {
  // Evaluated, because the security policy of the page refuses a script tag.
  await page.evaluate(axeSource);
  const { violations: found } = await page.evaluate(() =>
    (window as unknown as { axe: { run: () => Promise<AxeResults> } }).axe.run(),
  );
  return found.map((one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 120)).join(" | ")}`);
}
