import { lazy, Suspense, useCallback, useEffect, useRef, useState } from "react";
import { useLoggedOut } from "../api/session";
import { BrakeBanner } from "../brake/BrakeBanner";
import { Briefing } from "../briefing/Briefing";
import { labels } from "../labels";
import { Notifier } from "../notification/Notifier";
import { Skeleton } from "../ui/Skeleton";
import { ConnectionBanner } from "./ConnectionBanner";
import { ErrorBoundary } from "./ErrorBoundary";
import { Login } from "./Login";
import { SetupNavigation } from "./Navigation";
import { NotFound } from "./NotFound";
import { PlainHeader } from "./PlainHeader";
import { type Route, routeOf, type SetupSection, usePathname } from "./router";
import { Section } from "./Section";
import { SettingsBanner } from "./SettingsBanner";
import { ShortcutList, useShortcuts } from "./Shortcuts";
import { TopBar } from "./TopBar";

// The first load is the briefing; every other page is loaded when it is opened.
const AgentStreamProvider = lazy(() => import("../agent/AgentStreamProvider"));
const RunsPage = lazy(() => import("../run/RunsPage"));
const SchedulesPage = lazy(() => import("../schedule/SchedulesPage"));
const NewAgentPage = lazy(() => import("../agent/NewAgentPage"));
const EditAgentPage = lazy(() => import("../agent/EditAgentPage"));
const SETUP_PAGES = {
  agents: lazy(() => import("../agent/AgentsPage")),
  providers: lazy(() => import("../provider/ProvidersPage")),
  secrets: lazy(() => import("../secret/SecretsPage")),
  audit: lazy(() => import("../audit/AuditPage")),
  settings: lazy(() => import("../setting/SettingsPage")),
  triggers: lazy(() => import("../trigger/TriggersPage")),
  sources: lazy(() => import("../source/SourcesPage")),
} satisfies Record<SetupSection, unknown>;

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
    case "run":
      return (
        <Suspense
          fallback={
            <>
              <PlainHeader title={route.agentId} />
              <Skeleton lines={8} label={labels.agent.loading(route.agentId)} />
            </>
          }
        >
          <AgentStreamProvider
            key={route.agentId}
            agentId={route.agentId}
            runKey={route.page === "run" ? route.runKey : undefined}
          />
        </Suspense>
      );
    case "runs":
      return (
        <Section title={labels.run.list}>
          <RunsPage />
        </Section>
      );
    case "schedules":
      return (
        <Section title={labels.schedule.list} lede={labels.schedule.lede}>
          <SchedulesPage />
        </Section>
      );
    case "setup":
    case "newAgent":
    case "editAgent":
      return (
        <Section title={labels.setup.title} navigation={<SetupNavigation route={route} />}>
          <SetupContent route={route} />
        </Section>
      );
    case "notFound":
      return <NotFound />;
  }
}

function SetupContent({ route }: { route: Extract<Route, { page: "setup" | "newAgent" | "editAgent" }> }) {
  if (route.page === "newAgent") return <NewAgentPage />;
  if (route.page === "editAgent") return <EditAgentPage key={route.agentId} agentId={route.agentId} />;
  const SetupPage = SETUP_PAGES[route.section];
  return <SetupPage />;
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
