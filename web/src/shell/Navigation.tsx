import { labels } from "../labels";
import { briefingPath, Link, type Route, runsPath, SETUP_SECTIONS, schedulesPath, setupPath } from "./router";

/** The pages that every page leads to. */
export function Navigation({ route: { page } }: { route: Route }) {
  return (
    <>
      <Link to={briefingPath} current={page === "briefing"}>
        {labels.common.briefing}
      </Link>
      <Link to={runsPath} current={page === "runs"}>
        {labels.run.list}
      </Link>
      <Link to={schedulesPath} current={page === "schedules"}>
        {labels.schedule.list}
      </Link>
      <Link to={setupPath("agents")} current={page === "setup" || page === "newAgent" || page === "editAgent"}>
        {labels.setup.title}
      </Link>
    </>
  );
}

/** The pages of the set-up. */
export function SetupNavigation({ route }: { route: Route }) {
  const section = route.page === "setup" ? route.section : "agents";
  return (
    <nav className="tabs" aria-label={labels.setup.title}>
      {SETUP_SECTIONS.map((one) => (
        <Link key={one} to={setupPath(one)} current={one === section}>
          {labels.setup.sections[one]}
        </Link>
      ))}
    </nav>
  );
}
