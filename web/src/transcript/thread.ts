// The conversations of an agent: their names, and which of them the open run belongs to.
import type { AgentState, Thread } from "../api/types";
import { labels } from "../labels";
import { previewText } from "../text/preview";

/** The conversation that the command line and the page share, and that the server uses when none is named. */
export const MAIN_THREAD = "cli";

const TITLE_CHARS_MAX = 48;

/** Digits of the run key in the title of a conversation that begins at one of its steps. */
const BRANCH_DIGITS = 8;

/** A name for a new conversation, as the command line builds it. */
export function newThread(): string {
  return `chat-${crypto.randomUUID().split("-").at(-1)}`;
}

/** The conversation in the query of an address. */
export function threadOfSearch(search: string): string {
  return new URLSearchParams(search).get("thread") || MAIN_THREAD;
}

/** What a conversation is called: names that a program chose are not shown. */
export function threadTitle(thread: string): string {
  if (thread === MAIN_THREAD) return labels.thread.main;
  const branch = /^from-([0-9a-f]{16})$/.exec(thread);
  if (branch) return labels.thread.branch(branch[1]?.slice(0, BRANCH_DIGITS) ?? "");
  return /^chat-[0-9a-f]{12}$/.test(thread) ? labels.thread.unnamed : labels.thread.named(thread);
}

/** The conversations to choose from, as values and texts. The chosen one is among them before its first message. */
export function threadOptions(threads: readonly Thread[], chosen: string): [string, string][] {
  const known: [string, string][] = threads.map(({ thread, preview, open_run: openRun }) => {
    const title = preview
      ? `${threadTitle(thread)}: ${labels.common.quote(previewText(preview, TITLE_CHARS_MAX))}`
      : threadTitle(thread);
    return [thread, openRun === undefined ? title : labels.thread.open(title)];
  });
  const missing = [chosen, MAIN_THREAD].filter((one) => !threads.some(({ thread }) => thread === one));
  return [...[...new Set(missing)].map((one): [string, string] => [one, titleOfMissing(one)]), ...known];
}

/** The server lists a conversation when its first run has started. */
function titleOfMissing(thread: string): string {
  return thread === MAIN_THREAD ? labels.thread.main : labels.thread.empty(threadTitle(thread));
}

/** The conversation of the open run; undefined when there is none, and when no person started the run. */
export function openThread({ agent, runs }: AgentState, threads: readonly Thread[]): string | undefined {
  if (agent.open_run === undefined) return undefined;
  const run = runs.find((one) => one.run_key === agent.open_run);
  return run ? run.thread : threads.find((one) => one.open_run === agent.open_run)?.thread;
}
