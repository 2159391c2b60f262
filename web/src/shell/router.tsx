// Routes pages by path, with the history of the browser.
import { type MouseEvent, type ReactNode, useSyncExternalStore } from "react";
import { labels } from "../labels";
import { MAIN_THREAD } from "../transcript/thread";

export type SetupSection = keyof typeof labels.setup.sections;
export const SETUP_SECTIONS = Object.keys(labels.setup.sections) as SetupSection[];

export type Route =
  | { page: "briefing" }
  | { page: "runs" }
  | { page: "schedules" }
  | { page: "setup"; section: SetupSection }
  | { page: "newAgent" }
  | { page: "editAgent"; agentId: string }
  | { page: "agent"; agentId: string }
  | { page: "run"; agentId: string; runKey: string }
  | { page: "notFound" };

export function routeOf(pathname: string): Route {
  const parts = decodedParts(pathname);
  const [section, agentId, subsection, runKey] = parts;
  if (parts.length === 0) return { page: "briefing" };
  if (parts.length === 1 && (section === "runs" || section === "schedules")) return { page: section };
  if (section === "setup") return setupRouteOf(parts.slice(1));
  if (section === "agents" && agentId && parts.length === 2) return { page: "agent", agentId };
  if (section === "agents" && agentId && subsection === "runs" && runKey && parts.length === 4)
    return { page: "run", agentId, runKey };
  return { page: "notFound" };
}

function setupRouteOf([section = "agents", agentId, ...more]: readonly string[]): Route {
  if (more.length > 0) return { page: "notFound" };
  if (section === "new-agent" && agentId === undefined) return { page: "newAgent" };
  if (section === "agents" && agentId) return { page: "editAgent", agentId };
  const known = SETUP_SECTIONS.find((one) => one === section);
  return known && agentId === undefined ? { page: "setup", section: known } : { page: "notFound" };
}

function decodedParts(pathname: string): string[] {
  try {
    return pathname.split("/").filter(Boolean).map(decodeURIComponent);
  } catch {
    // A stray percent sign is not a path.
    return ["?"];
  }
}

export const briefingPath = "/";
export const runsPath = "/runs";
export const schedulesPath = "/schedules";
export const newAgentPath = "/setup/new-agent";
export const setupPath = (section: SetupSection) => `/setup/${section}`;
export const editAgentPath = (agentId: string) => `${setupPath("agents")}/${encodeURIComponent(agentId)}`;
export const agentPath = (agentId: string) => `/agents/${encodeURIComponent(agentId)}`;
/** One conversation of an agent. */
export const threadPath = (agentId: string, thread: string) =>
  thread === MAIN_THREAD ? agentPath(agentId) : `${agentPath(agentId)}?${new URLSearchParams({ thread })}`;
export const runPath = (agentId: string, runKey: string) => `${agentPath(agentId)}/runs/${encodeURIComponent(runKey)}`;

const NAVIGATED = "wakeful:navigated";

export function navigate(path: string): void {
  if (path !== location.pathname + location.search) history.pushState(null, "", path);
  window.dispatchEvent(new Event(NAVIGATED));
  window.scrollTo(0, 0);
}

/** Replaces the query of the address. It is not a step back: each typed letter would be one. */
export function replaceSearch(search: string): void {
  history.replaceState(null, "", search === "" ? location.pathname : `?${search}`);
  window.dispatchEvent(new Event(NAVIGATED));
}

export function usePathname(): string {
  return useSyncExternalStore(subscribe, () => location.pathname);
}

export function useSearch(): string {
  return useSyncExternalStore(subscribe, () => location.search);
}

function subscribe(listener: () => void): () => void {
  window.addEventListener("popstate", listener);
  window.addEventListener(NAVIGATED, listener);
  return () => {
    window.removeEventListener("popstate", listener);
    window.removeEventListener(NAVIGATED, listener);
  };
}

interface LinkProps {
  to: string;
  children: ReactNode;
  className?: string;
  current?: boolean;
}

/** A link that navigates without a reload. Clicks with a modifier key are left to the browser. */
export function Link({ to, children, className, current }: LinkProps) {
  const follow = (click: MouseEvent) => {
    if (click.button !== 0 || click.metaKey || click.ctrlKey || click.shiftKey || click.altKey) return;
    click.preventDefault();
    navigate(to);
  };
  return (
    <a href={to} className={className} onClick={follow} aria-current={current ? "page" : undefined}>
      {children}
    </a>
  );
}
