// Counts what a person does on the page for a task, and measures how long it takes.
import type { Locator, Page } from "playwright-core";

/** What one task needed. The time is from the first action until the task ended. */
export interface Effort {
  task: string;
  clicks: number;
  fields: number;
  /** Key presses that submit or open something. */
  keys: number;
  /** How often the next control was outside the window. */
  scrolls: number;
  /** Whole loads of the page; a link inside the page is only a click. */
  loads: number;
  ms: number;
}

/** Acts on the page only as a person can: by clicks, fields and keys. */
export class Person {
  readonly efforts: Effort[] = [];
  private current: Effort = noEffort("");
  private startedAt: number | undefined;

  constructor(private readonly page: Page) {
    page.on("domcontentloaded", () => {
      this.current.loads += 1;
    });
  }

  /** Counts the actions of a task. Waiting before its first action is not measured. */
  async task(name: string, act: () => Promise<void>): Promise<void> {
    this.current = noEffort(name);
    this.startedAt = undefined;
    await act();
    this.current.ms = Math.round(performance.now() - (this.startedAt ?? performance.now()));
    this.efforts.push(this.current);
    this.current = noEffort("");
  }

  async click(target: Locator): Promise<void> {
    await this.reach(target);
    this.current.clicks += 1;
    await target.click();
  }

  async fill(field: Locator, text: string): Promise<void> {
    await this.reach(field);
    this.current.fields += 1;
    await field.fill(text);
  }

  async press(key: string): Promise<void> {
    this.startedAt ??= performance.now();
    this.current.keys += 1;
    await this.page.keyboard.press(key);
  }

  /** Waits for a control, and counts a scroll if no part of it is in the window. */
  private async reach(target: Locator): Promise<void> {
    this.startedAt ??= performance.now();
    await target.waitFor();
    const isInWindow = await target.evaluate((element) => {
      const { top, bottom } = element.getBoundingClientRect();
      return bottom > 0 && top < window.innerHeight;
    });
    if (!isInWindow) this.current.scrolls += 1;
  }
}

/** The efforts and their sums as a table in Markdown. */
export function effortTable(efforts: readonly Effort[]): string {
  const sum = efforts.reduce((all, one) => ({
    task: "all",
    clicks: all.clicks + one.clicks,
    fields: all.fields + one.fields,
    keys: all.keys + one.keys,
    scrolls: all.scrolls + one.scrolls,
    loads: all.loads + one.loads,
    ms: all.ms + one.ms,
  }));
  const rows = [...efforts, sum].map((one) => Object.values(one).join(" | "));
  return ["task | clicks | fields | keys | scrolls | loads | ms", "--|--:|--:|--:|--:|--:|--:", ...rows].join("\n");
}

const noEffort = (task: string): Effort => ({ task, clicks: 0, fields: 0, keys: 0, scrolls: 0, loads: 0, ms: 0 });
