import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { AgentStreamProvider } from "../agent/AgentStreamProvider";
import { logout } from "../api/calls";
import { setLoggedOut, useLoggedOut } from "../api/session";
import { BrakeBanner } from "../brake/BrakeBanner";
import { BrakeButton } from "../brake/BrakeButton";
import { Briefing } from "../briefing/Briefing";
import { Icon, type IconName } from "../ui/Icon";
import { ConnectionBanner } from "./ConnectionBanner";
import { ErrorBoundary } from "./ErrorBoundary";
import { Login } from "./Login";
import { Logins } from "./Logins";
import { NotFound } from "./NotFound";
import { briefingPath, Link, type Route, routeOf, usePathname } from "./router";
import { ShortcutList, useShortcuts } from "./Shortcuts";
import { type Theme, useTheme } from "./theme";

const THEME_ICONS: Record<Theme, IconName> = { system: "half", light: "sun", dark: "moon" };

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
        Skip to content
      </a>
      <TopBar route={route} isLoggedOut={isLoggedOut} onHelp={openHelp} />
      <ConnectionBanner />
      {!isLoggedOut && <BrakeBanner />}
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

function TopBar({ route, isLoggedOut, onHelp }: { route: Route; isLoggedOut: boolean; onHelp: () => void }) {
  const [theme, nextTheme] = useTheme();
  const [isLoginListOpen, setLoginListOpen] = useState(false);
  const client = useQueryClient();
  const logOut = async () => {
    await logout().catch(() => undefined);
    setLoginListOpen(false);
    client.clear();
    setLoggedOut(true);
  };
  return (
    <>
      <header className="top">
        <Link to={briefingPath} className="brand">
          <Logo />
          Wakeful
        </Link>
        <nav aria-label="Pages">
          {!isLoggedOut && (
            <Link to={briefingPath} current={route.page === "briefing"}>
              Briefing
            </Link>
          )}
        </nav>
        <div className="top-actions">
          {!isLoggedOut && <BrakeButton />}
          <button
            type="button"
            className="icon-button"
            onClick={nextTheme}
            aria-label={`Colours: ${theme}`}
            title={`Colours: ${theme}`}
          >
            <Icon name={THEME_ICONS[theme]} />
          </button>
          <button
            type="button"
            className="icon-button"
            onClick={onHelp}
            aria-label="Keyboard shortcuts"
            title="Keyboard shortcuts (?)"
          >
            <Icon name="keys" />
          </button>
          {!isLoggedOut && (
            <button
              type="button"
              className="icon-button"
              onClick={() => setLoginListOpen(true)}
              aria-label="Logged-in browsers"
              title="Logged-in browsers"
            >
              <Icon name="device" />
            </button>
          )}
          {!isLoggedOut && (
            <button
              type="button"
              className="icon-button"
              onClick={() => void logOut()}
              aria-label="Log out"
              title="Log out"
            >
              <Icon name="leave" />
            </button>
          )}
        </div>
      </header>
      {isLoginListOpen && !isLoggedOut && (
        <Logins onClose={() => setLoginListOpen(false)} onLogout={() => void logOut()} />
      )}
    </>
  );
}

/** An eye that is a sunrise. */
function Logo() {
  return (
    <svg className="logo" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <path className="logo-sun" d="M9.5 20.5a6.5 6.5 0 0 1 13 0Z" />
      <path d="M3 19.5C6.7 13.5 11 10.5 16 10.5s9.3 3 13 9M3 24h26M16 3.5v3M6.5 6.8l1.7 2.4M25.5 6.8l-1.7 2.4" />
    </svg>
  );
}

/** A new page begins at its heading, for those who listen as well. The first one is left alone. */
function useFocusOnNavigation(pathname: string): void {
  const before = useRef(pathname);
  useEffect(() => {
    if (before.current === pathname) return;
    before.current = pathname;
    const heading = document.querySelector<HTMLElement>("main h1") ?? document.getElementById("main");
    heading?.focus({ preventScroll: true });
  }, [pathname]);
}
