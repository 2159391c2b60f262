// Real paths and the history of the browser; three pages need no more than this.
import { type MouseEvent, type ReactNode, useSyncExternalStore } from "react";

export type Route =
  | { page: "briefing" }
  | { page: "agent"; agentId: string }
  | { page: "run"; agentId: string; runKey: string }
  | { page: "nowhere" };

export function routeOf(pathname: string): Route {
  const parts = decoded(pathname);
  const [room, agentId, shelf, runKey] = parts;
  if (parts.length === 0) return { page: "briefing" };
  if (room === "agents" && agentId && parts.length === 2) return { page: "agent", agentId };
  if (room === "agents" && agentId && shelf === "runs" && runKey && parts.length === 4)
    return { page: "run", agentId, runKey };
  return { page: "nowhere" };
}

function decoded(pathname: string): string[] {
  try {
    return pathname.split("/").filter(Boolean).map(decodeURIComponent);
  } catch {
    // A stray percent sign names no page.
    return ["?"];
  }
}

export const briefingPath = "/";
export const agentPath = (agentId: string) => `/agents/${encodeURIComponent(agentId)}`;
export const runPath = (agentId: string, runKey: string) => `${agentPath(agentId)}/runs/${encodeURIComponent(runKey)}`;

const MOVED = "wakeful:moved";

export function go(path: string): void {
  if (path !== location.pathname) history.pushState(null, "", path);
  window.dispatchEvent(new Event(MOVED));
  window.scrollTo(0, 0);
}

export function usePathname(): string {
  return useSyncExternalStore(
    (listener) => {
      window.addEventListener("popstate", listener);
      window.addEventListener(MOVED, listener);
      return () => {
        window.removeEventListener("popstate", listener);
        window.removeEventListener(MOVED, listener);
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

/** An ordinary link; only the plain click is ours, so that a new tab or a copied address work as anywhere. */
export function Link({ to, children, className, current }: LinkProps) {
  const follow = (click: MouseEvent) => {
    if (click.button !== 0 || click.metaKey || click.ctrlKey || click.shiftKey || click.altKey) return;
    click.preventDefault();
    go(to);
  };
  return (
    <a href={to} className={className} onClick={follow} aria-current={current ? "page" : undefined}>
      {children}
    </a>
  );
}
