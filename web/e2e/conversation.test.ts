// The conversation with an agent: what is visible, what is sent with a message, and what one click can do.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { audit, launch, logIn, type Watch, watch } from "./browser";
import { Daemon } from "./daemon";
import { createAgent, sendMessage } from "./requests";

const folder = mkdtempSync(join(tmpdir(), "wakeful-conversation-"));
const home = join(folder, "home");
const workspace = join(folder, "garden");
const script = (name: string) => `scripted:${join(folder, name)}.yaml`;

const NARROW = { width: 1100, height: 800 };
const TALL_PHONE = { width: 390, height: 844 };
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

let daemon: Daemon;
let browser: Browser;
let context: BrowserContext;
let page: Page;
let seen: Watch;

beforeAll(async () => {
  mkdirSync(home);
  mkdirSync(workspace);
  const write = (name: string, rounds: unknown[]) =>
    writeFileSync(join(folder, `${name}.yaml`), JSON.stringify({ rounds }));
  const act = { name: "ExecCommand", input: { cmd: "echo cleared >> world.txt" } };
  write("risky", [{ text: "I clear the bed.", tools: [act] }, { text: "The bed is clear." }]);
  write("slow", [{ text: "I look at each page. ".repeat(40), delay_ms: 60_000 }]);
  const code = Array.from({ length: 120 }, (_, line) => `let plant${line} = "bean"; // a long line of code ${line}`);
  const hostile = '<img src=x onerror="document.title=1"> [x](javascript:alert(1)) <script>document.title=2</script>';
  const text = `# Report\n\n${hostile}\n\n| plant | cm |\n|--|--:|\n| bean | 120 |\n\n\`\`\`rust\n${code.join("\n")}\n\`\`\`\n\nThe last word.`;
  write("long", [{ text }]);
  daemon = await Daemon.start(home, 0);
  browser = await launch();
  context = await browser.newContext({ viewport: NARROW, reducedMotion: "reduce" });
  page = await context.newPage();
  page.setDefaultTimeout(30_000);
  seen = watch(page);
  await logIn(page, await daemon.loginLink());
  for (const agentId of ["gardener", "coach", "critic", "scout"]) await createAgent(page, agentId, workspace);
});

afterAll(async () => {
  await browser?.close();
  await daemon?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const role = (...args: Parameters<Page["getByRole"]>) => page.getByRole(...args);
const attention = (of = page) => of.getByRole("region", { name: "Needs attention" });

/** How far the last reply reaches below the top of the message box; nothing is hidden at 0 or less. */
const hiddenPx = () =>
  page.evaluate(() => {
    const replies = document.querySelectorAll(".turn.reply");
    const bottom = replies[replies.length - 1]?.getBoundingClientRect().bottom ?? Infinity;
    return bottom - (document.querySelector(".composer")?.getBoundingClientRect().top ?? 0);
  });

it.each([NARROW, TALL_PHONE])("the first reply is above the message box at $width", async (viewport) => {
  await page.setViewportSize(viewport);
  const agentId = `first-${viewport.width}`;
  await createAgent(page, agentId, workspace);
  await page.goto(`${daemon.url}/agents/${agentId}`);
  await page.locator("#message-box").fill("Look around and leave a report");
  await page.keyboard.press("Enter");
  await page.getByText("Done. The report is in").first().waitFor();
  await expect.poll(hiddenPx).toBeLessThanOrEqual(0);
  await page.reload();
  await page.getByText("Done. The report is in").first().waitFor();
  await expect.poll(hiddenPx).toBeLessThanOrEqual(0);
});

it.each([NARROW, TALL_PHONE])("a long reply ends above the message box at $width", async (viewport) => {
  await page.setViewportSize(viewport);
  await page.goto(`${daemon.url}/agents/gardener`);
  await page.locator("#message-box").waitFor();
  await sendMessage(page, "gardener", { text: "Report", model: script("long") });
  await page.getByText("The last word.").last().waitFor();
  await expect.poll(hiddenPx).toBeLessThanOrEqual(0);
  await page.locator("#message-box").fill("one\ntwo\nthree\nfour\nfive\nsix");
  await expect.poll(hiddenPx).toBeLessThanOrEqual(0);
  await page.evaluate(() => window.scrollTo(0, 0));
  await page.locator("#message-box").fill("");
  expect(await page.evaluate(() => window.scrollY)).toBeLessThan(50);
});

it("hostile Markdown stays text, in both themes and sizes", async () => {
  expect(await page.title()).toContain("gardener");
  expect(await page.locator(".turns img, .turns script, .turns a[href^='javascript']").count()).toBe(0);
  await page.getByText('<img src=x onerror="document.title=1">').first().waitFor();
  await page.locator(".code-keyword").first().waitFor();
  await audit(page);
});

it("files are attached, sent and shown", async () => {
  await page.goto(`${daemon.url}/agents/gardener`);
  await page.locator("input[type=file]").setInputFiles([
    { name: "dot.png", mimeType: "image/png", buffer: Buffer.from(PNG, "base64") },
    { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("beans") },
    { name: "tool.bin", mimeType: "application/octet-stream", buffer: Buffer.from([0, 1, 2]) },
  ]);
  await page.getByText("tool.bin was not attached").waitFor();
  await role("button", { name: "Remove notes.txt" }).waitFor();
  expect(await page.locator(".attachments img").evaluate((image: HTMLImageElement) => image.naturalWidth)).toBe(1);
  await audit(page);
  await page.locator("#message-box").fill("Look at these");
  await page.keyboard.press("Enter");
  await page.locator(".turn.attachment", { hasText: "dot.png" }).waitFor();
  await page.locator(".turn.attachment", { hasText: "notes.txt" }).waitFor();
});

it("a long pasted text is refused and can be attached", async () => {
  await page.locator("#message-box").focus();
  const paste = (chars: number) =>
    page.evaluate((length) => {
      const clipboardData = new DataTransfer();
      clipboardData.setData("text/plain", "x".repeat(length));
      const event = new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true });
      document.querySelector("#message-box")?.dispatchEvent(event);
    }, chars);
  await paste(10_000_000);
  await page.getByText("It is also too long for an attachment").waitFor();
  await paste(400_000);
  await role("button", { name: "Attach it as a text file" }).click();
  await role("button", { name: "Remove pasted.txt" }).click();
  expect(await page.locator("#message-box").inputValue()).toBe("");
});

it("a working agent can be messaged, its queue cancelled and its run stopped", async () => {
  await sendMessage(page, "scout", { text: "Take your time", model: script("slow") });
  await page.goto(`${daemon.url}/agents/scout`);
  await role("button", { name: "Stop" }).waitFor();
  for (const text of ["First", "Second"]) {
    await page.locator("#message-box").fill(text);
    await page.keyboard.press("Enter");
    await page.locator(".turn.waiting", { hasText: text }).waitFor();
  }
  await audit(page);
  await page.locator(".turn.waiting", { hasText: "First" }).getByRole("button", { name: "Cancel message" }).click();
  await page.locator(".turn.waiting", { hasText: "First" }).waitFor({ state: "detached" });
  await page.locator("#message-box").fill("Only the headlines");
  await role("button", { name: "Send now" }).click();
  await page.getByText("Sent to the current run").waitFor();
  await role("button", { name: "Cancel queued messages" }).click();
  await page.locator(".turn.waiting").first().waitFor({ state: "detached" });
  await role("button", { name: "Stop" }).click();
  await page.locator(".page-head").getByText("scout is asleep").waitFor();
});

it("each conversation shows its own messages, and links to the one in progress", async () => {
  const turns = page.locator(".turns");
  await page.goto(`${daemon.url}/agents/scout`);
  await page.locator("#message-box").fill("The main matter");
  await page.keyboard.press("Enter");
  await turns.getByText("Done. The report is in").waitFor();
  await role("button", { name: "New conversation" }).click();
  await page.getByText("No messages to scout yet").waitFor();
  await page.locator("#message-box").fill("A second matter");
  await page.keyboard.press("Enter");
  await turns.getByText("Done. The report is in").waitFor();
  expect(await turns.innerText()).not.toContain("The main matter");
  const address = page.url();
  await page.reload();
  await turns.getByText("A second matter").waitFor();
  const thread = new URL(address).searchParams.get("thread");
  expect(thread).toMatch(/^chat-/);
  await sendMessage(page, "scout", { text: "Take your time", model: script("slow"), thread });
  await page.locator(".turn.live").waitFor();
  await role("button", { name: "Send now" }).waitFor();
  await page.getByLabel("Conversation to show").selectOption("cli");
  await page.getByText("scout is busy with a run of another conversation").waitFor();
  await turns.getByText("The main matter").waitFor();
  expect(await page.locator(".turn.live").count()).toBe(0);
  expect(await role("button", { name: "Send now" }).count()).toBe(0);
  await audit(page);
  await role("link", { name: "Show that conversation" }).click();
  await page.locator(".turn.live").waitFor();
  expect(page.url()).toBe(address);
  await page.locator(".turn.user", { hasText: "A second matter" }).getByRole("link", { name: "View run" }).click();
  await role("navigation", { name: "Breadcrumbs" }).getByRole("link", { name: "Conversation" }).click();
  await page.locator(".turn.live").waitFor();
  expect(page.url()).toBe(address);
  await role("button", { name: "Stop" }).click();
  await page.locator(".page-head").getByText("scout is asleep").waitFor();
});

it("a message that is written offline is sent once when the browser is online again", async () => {
  await page.goto(`${daemon.url}/agents/scout`);
  await page.getByText("scout is asleep").waitFor();
  await context.setOffline(true);
  await page.locator("#message-box").fill("Written offline");
  await page.keyboard.press("Enter");
  await page.getByText("Not sent yet.").waitFor();
  await audit(page);
  await context.setOffline(false);
  await page.getByText("Not sent yet.").waitFor({ state: "detached" });
  await page.locator(".turn.user:not(.outgoing)", { hasText: "Written offline" }).waitFor();
  expect(await page.locator(".turn.user", { hasText: "Written offline" }).count()).toBe(1);
});

it("two clicks at one spot answer one decision", async () => {
  for (const agentId of ["coach", "critic"])
    await sendMessage(page, agentId, { text: "Clear the bed", model: script("risky"), ask_tools: ["ExecCommand"] });
  await page.goto(daemon.url);
  const approve = attention().getByRole("button", { name: "Approve" });
  await expect.poll(() => approve.count()).toBe(2);
  await expect.poll(() => approve.first().getAttribute("aria-disabled")).toBeNull();
  const second = await approve.nth(1).boundingBox();
  await approve.first().dblclick();
  await attention().getByText("Answered. The run continues.").waitFor();
  await expect.poll(() => approve.count()).toBe(1);
  expect(await approve.boundingBox()).toEqual(second);
  await audit(page);
});

it("two pages that answer one decision both show the answer", async () => {
  const other = await context.newPage();
  await other.goto(daemon.url);
  const approve = (of: Page) => attention(of).getByRole("button", { name: "Approve" });
  await expect.poll(() => approve(other).getAttribute("aria-disabled")).toBeNull();
  const deny = attention(other).getByRole("button", { name: "Deny" });
  const buttons = await Promise.all([approve(page).elementHandle(), deny.elementHandle()]);
  await Promise.all(buttons.map((button) => button?.evaluate((one) => (one as HTMLElement).click())));
  const texts = async () =>
    [await attention().innerText(), await attention(other).innerText()].join(" ").match(/“\w+” was chosen/g) ?? [];
  // The answered decision of the test before is still on the first page.
  await expect.poll(async () => (await texts()).length).toBe(3);
  expect(new Set((await texts()).slice(1)).size).toBe(1);
  expect(
    await attention()
      .innerText()
      .then(async (own) => own + (await attention(other).innerText())),
  ).toContain("Answered elsewhere.");
  await other.close();
});

it("a decision at the end of a conversation is armed late and then answered", async () => {
  await page.goto(`${daemon.url}/agents/coach`);
  await page.locator("#message-box").waitFor();
  await sendMessage(page, "coach", { text: "Clear it again", model: script("risky"), ask_tools: ["ExecCommand"] });
  const approve = role("button", { name: "Approve" });
  await approve.waitFor();
  expect(await approve.getAttribute("aria-disabled")).toBe("true");
  await approve.focus();
  await page.keyboard.press("Enter");
  expect(await role("button", { name: "Approve" }).count()).toBe(1);
  await audit(page);
  await approve.click();
  await page.getByText("“Approve” was chosen on the page.").waitFor();
});

it("notifications are asked for by a click and name a new decision", async () => {
  await page.addInitScript(() => {
    const shown: string[] = [];
    Object.assign(window, { shown });
    const Original = Notification;
    window.Notification = new Proxy(Original, {
      construct: (target, [title, options]: [string, NotificationOptions]) => {
        shown.push(`${title}: ${options.body} ${options.tag?.split("/")[0]}`);
        return new target(title, options);
      },
    });
  });
  await page.goto(daemon.url);
  await role("button", { name: "Turn on notifications" }).waitFor();
  await context.grantPermissions(["notifications"], { origin: daemon.url });
  await role("button", { name: "Turn on notifications" }).click();
  await role("button", { name: "Turn off notifications" }).waitFor();
  await audit(page);
  await page.evaluate(() => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => true });
    document.dispatchEvent(new Event("visibilitychange"));
  });
  await sendMessage(page, "critic", { text: "A secret bed", model: script("risky"), ask_tools: ["ExecCommand"] });
  const shown = () => page.evaluate(() => (window as unknown as { shown: string[] }).shown);
  await expect.poll(shown, { timeout: 30_000 }).toEqual(["critic: Needs a decision about ExecCommand. decision"]);
});

it("no request left this machine and no page logged an error", () => {
  expect(seen).toEqual({ foreign: [], errors: [] });
});
