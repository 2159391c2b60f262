// Routes three pages by path, with the history of the browser.
import { type MouseEvent, type ReactNode, useSyncExternalStore } from "react";

export type Route =
  | { page: "briefing" }
  | { page: "agent"; agentId: string }
  | { page: "run"; agentId: string; runKey: string }
  | { page: "notFound" };

export function routeOf(pathname: string): Route {
  const parts = decodedParts(pathname);
  const [section, agentId, subsection, runKey] = parts;
  if (parts.length === 0) return { page: "briefing" };
  if (section === "agents" && agentId && parts.length === 2) return { page: "agent", agentId };
  if (section === "agents" && agentId && subsection === "runs" && runKey && parts.length === 4)
    return { page: "run", agentId, runKey };
  return { page: "notFound" };
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
export const agentPath = (agentId: string) => `/agents/${encodeURIComponent(agentId)}`;
export const runPath = (agentId: string, runKey: string) => `${agentPath(agentId)}/runs/${encodeURIComponent(runKey)}`;

const NAVIGATED = "wakeful:navigated";

export function navigate(path: string): void {
  if (path !== location.pathname) history.pushState(null, "", path);
  window.dispatchEvent(new Event(NAVIGATED));
  window.scrollTo(0, 0);
}

export function usePathname(): string {
  return useSyncExternalStore(
    (listener) => {
      window.addEventListener("popstate", listener);
      window.addEventListener(NAVIGATED, listener);
      return () => {
        window.removeEventListener("popstate", listener);
        window.removeEventListener(NAVIGATED, listener);
      };
    },
    () => location.pathname,
  );
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
