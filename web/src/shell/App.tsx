import { useCallback, useEffect, useRef, useState } from "react";
import { AgentStreamProvider } from "../agent/AgentStreamProvider";
import { useLoggedOut } from "../api/session";
import { BrakeBanner } from "../brake/BrakeBanner";
import { Briefing } from "../briefing/Briefing";
import { labels } from "../labels";
import { Notifier } from "../notification/Notifier";
import { ConnectionBanner } from "./ConnectionBanner";
import { ErrorBoundary } from "./ErrorBoundary";
import { Login } from "./Login";
import { NotFound } from "./NotFound";
import { type Route, routeOf, usePathname } from "./router";
import { SettingsBanner } from "./SettingsBanner";
import { ShortcutList, useShortcuts } from "./Shortcuts";
import { TopBar } from "./TopBar";

export function App() {
  const pathname = usePathname();
  const route = routeOf(pathname);
  const isLoggedOut = useLoggedOut();
  const [isHelpOpen, setHelpOpen] = useState(false);
  const openHelp = useCallback(() => setHelpOpen(true), []);
  useShortcuts(openHelp);
  useFocusOnNavigation(pathname);

  return (
    <>
      <a href="#main" className="skip">
        {labels.shell.skip}
      </a>
      <TopBar route={route} isLoggedOut={isLoggedOut} onHelp={openHelp} />
      <ConnectionBanner />
      {!isLoggedOut && <SettingsBanner />}
      {!isLoggedOut && <BrakeBanner />}
      {!isLoggedOut && <Notifier />}
      <main id="main" tabIndex={-1}>
        <ErrorBoundary key={pathname}>{isLoggedOut ? <Login /> : <Page route={route} />}</ErrorBoundary>
      </main>
      {isHelpOpen && <ShortcutList onClose={() => setHelpOpen(false)} />}
    </>
  );
}

function Page({ route }: { route: Route }) {
  switch (route.page) {
    case "briefing":
      return <Briefing />;
    case "agent":
      return <AgentStreamProvider key={route.agentId} agentId={route.agentId} />;
    case "run":
      return <AgentStreamProvider key={route.agentId} agentId={route.agentId} runKey={route.runKey} />;
    case "notFound":
      return <NotFound />;
  }
}

/** Moves the focus to the heading of a new page, so that screen readers announce it. */
function useFocusOnNavigation(pathname: string): void {
  const before = useRef(pathname);
  useEffect(() => {
    if (before.current === pathname) return;
    before.current = pathname;
    const heading = document.querySelector<HTMLElement>("main h1") ?? document.getElementById("main");
    heading?.focus({ preventScroll: true });
  }, [pathname]);
}
