import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { AgentRoom } from "../agent/AgentRoom";
import { logout } from "../api/calls";
import { setAnonymous, useAnonymous } from "../api/session";
import { BrakeBanner } from "../brake/BrakeBanner";
import { BrakeButton } from "../brake/BrakeButton";
import { Briefing } from "../briefing/Briefing";
import { Glyph, type GlyphName } from "../ui/Glyph";
import { ConnectionBanner } from "./ConnectionBanner";
import { ErrorBoundary } from "./ErrorBoundary";
import { Login } from "./Login";
import { Logins } from "./Logins";
import { Nowhere } from "./Nowhere";
import { briefingPath, Link, type Route, routeOf, usePathname } from "./router";
import { ShortcutList, useShortcuts } from "./Shortcuts";
import { type Theme, useTheme } from "./theme";

const THEME_GLYPHS: Record<Theme, GlyphName> = { system: "half", light: "sun", dark: "moon" };

export function App() {
  const pathname = usePathname();
  const route = routeOf(pathname);
  const isAnonymous = useAnonymous();
  const [isHelping, setHelping] = useState(false);
  const help = useCallback(() => setHelping(true), []);
  useShortcuts(help);
  useFocusOnMove(pathname);

  return (
    <>
      <a href="#main" className="skip">
        Skip to content
      </a>
      <TopBar route={route} isAnonymous={isAnonymous} onHelp={help} />
      <ConnectionBanner />
      {!isAnonymous && <BrakeBanner />}
      <main id="main" tabIndex={-1}>
        <ErrorBoundary key={pathname}>{isAnonymous ? <Login /> : <Page route={route} />}</ErrorBoundary>
      </main>
      {isHelping && <ShortcutList onClose={() => setHelping(false)} />}
    </>
  );
}

function Page({ route }: { route: Route }) {
  switch (route.page) {
    case "briefing":
      return <Briefing />;
    case "agent":
      return <AgentRoom key={route.agentId} agentId={route.agentId} />;
    case "run":
      return <AgentRoom key={route.agentId} agentId={route.agentId} runKey={route.runKey} />;
    case "nowhere":
      return <Nowhere />;
  }
}

function TopBar({ route, isAnonymous, onHelp }: { route: Route; isAnonymous: boolean; onHelp: () => void }) {
  const [theme, turnTheme] = useTheme();
  const [isListing, setListing] = useState(false);
  const client = useQueryClient();
  const leave = async () => {
    await logout().catch(() => undefined);
    setListing(false);
    client.clear();
    setAnonymous(true);
  };
  return (
    <>
      <header className="top">
        <Link to={briefingPath} className="brand">
          <Mark />
          Wakeful
        </Link>
        <nav aria-label="Pages">
          {!isAnonymous && (
            <Link to={briefingPath} current={route.page === "briefing"}>
              Briefing
            </Link>
          )}
        </nav>
        <div className="top-acts">
          {!isAnonymous && <BrakeButton />}
          <button
            type="button"
            className="icon-button"
            onClick={turnTheme}
            aria-label={`Colours: ${theme}`}
            title={`Colours: ${theme}`}
          >
            <Glyph name={THEME_GLYPHS[theme]} />
          </button>
          <button
            type="button"
            className="icon-button"
            onClick={onHelp}
            aria-label="Keyboard shortcuts"
            title="Keyboard shortcuts (?)"
          >
            <Glyph name="keys" />
          </button>
          {!isAnonymous && (
            <button
              type="button"
              className="icon-button"
              onClick={() => setListing(true)}
              aria-label="Logged-in browsers"
              title="Logged-in browsers"
            >
              <Glyph name="device" />
            </button>
          )}
          {!isAnonymous && (
            <button
              type="button"
              className="icon-button"
              onClick={() => void leave()}
              aria-label="Log out"
              title="Log out"
            >
              <Glyph name="leave" />
            </button>
          )}
        </div>
      </header>
      {isListing && !isAnonymous && <Logins onClose={() => setListing(false)} onLogout={() => void leave()} />}
    </>
  );
}

/** An eye that is a sunrise. */
function Mark() {
  return (
    <svg className="mark" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <path className="mark-sun" d="M9.5 20.5a6.5 6.5 0 0 1 13 0Z" />
      <path d="M3 19.5C6.7 13.5 11 10.5 16 10.5s9.3 3 13 9M3 24h26M16 3.5v3M6.5 6.8l1.7 2.4M25.5 6.8l-1.7 2.4" />
    </svg>
  );
}

/** A new page begins at its heading, for those who listen as well. The first one is left alone. */
function useFocusOnMove(pathname: string): void {
  const before = useRef(pathname);
  useEffect(() => {
    if (before.current === pathname) return;
    before.current = pathname;
    const heading = document.querySelector<HTMLElement>("main h1") ?? document.getElementById("main");
    heading?.focus({ preventScroll: true });
  }, [pathname]);
}
