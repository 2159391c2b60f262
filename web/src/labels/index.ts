// Every text that people read on the page, grouped by noun. Status words are those of the API.
import { pluralize } from "../text/number";
import * as agents from "./agent";
import { agentForm, quota } from "./agentForm";
import { audit } from "./audit";
import { budget } from "./budget";
import { decision } from "./decision";
import { folder } from "./folder";
import { policy } from "./policy";
import * as providers from "./provider";
import * as runs from "./run";
import { sandboxForm } from "./sandboxForm";
import * as schedules from "./schedule";
import { secret } from "./secret";
import * as shell from "./shell";
import * as sources from "./source";
import { time } from "./time";

const common = {
  briefing: "Briefing",
  breadcrumbs: "Breadcrumbs",
  cancel: "Cancel",
  close: "Close",
  copied: "Copied",
  copy: "Copy",
  couldNot: (action: string) => `Could not ${action}.`,
  fetching: "Loading…",
  discardChanges: "Discard changes",
  edit: "Edit",
  optional: "optional",
  quote: (text: string) => `“${text}”`,
  save: "Save",
  saving: "Saving…",
  showOlder: "Show older",
  table: "Table",
  task: (isDone: boolean) => (isDone ? "Done" : "Not done"),
  tryAgain: "Try again",
  unsaved: "Unsaved changes. They are kept in this tab until you save or discard them.",
  useDefault: "Use the default",
  viewRun: "View run",
  you: "You",
};

const attention = {
  dismiss: "Done with this",
  dismissAction: "dismiss it",
  failed: "Run failed",
  failedMany: (count: number) => `${count} runs failed`,
  more: (count: number) => `${pluralize(count, "more item")} not shown.`,
  unknown: "Outcome unknown",
  unknownText: "An action was interrupted and may or may not have happened. Check before you continue.",
  ended: "Done",
  empty: "Nothing needs attention. Decisions, failures, quarantined runs and reached caps appear here.",
  loadAction: "load what needs attention",
  loading: "Loading what needs attention",
  title: "Needs attention",
};

const briefing = {
  loadAction: "load the briefing",
  loading: "Loading…",
  noAgents: "No agents yet.",
  partial: "Some data could not be loaded.",
  summary: (activity: string, items: number) =>
    `${activity}; ${items === 0 ? "nothing needs attention" : `${pluralize(items, "item")} ${items === 1 ? "needs" : "need"} attention`}.`,
  allAsleep: (agents: number) => (agents === 1 ? "Your agent is asleep" : "All agents are asleep"),
  stuck: (count: number) => `${pluralize(count, "agent")} cannot continue`,
  waiting: (count: number) => `${pluralize(count, "agent")} waiting`,
  working: (count: number) => `${pluralize(count, "agent")} working`,
  lastSeen: "Marked as seen",
  markSeen: "Mark all as seen",
  noActivity: "No activity yet. Send a message to an agent, and its work appears here.",
  nothingNew: "Nothing new. Marked as seen",
  recent: "Recent activity",
  sinceLastSeen: "New activity",
  title: (items: number) => (items > 0 ? `(${items}) Briefing` : "Briefing"),
};

const event = {
  displays: { info: "results and alerts", verbose: "also progress and tool calls", debug: "every event" },
  erased: "details erased",
  level: "Detail level",
  none: "No events yet.",
  noneAtLevel: (hidden: number) => `No events at this level; ${pluralize(hidden, "event")} hidden.`,
  timeline: "Timeline",
};

export const labels = {
  ...agents,
  ...providers,
  ...runs,
  ...schedules,
  ...shell,
  ...sources,
  agentForm,
  attention,
  audit,
  briefing,
  budget,
  common,
  decision,
  event,
  folder,
  policy,
  quota,
  sandboxForm,
  secret,
  time,
};
