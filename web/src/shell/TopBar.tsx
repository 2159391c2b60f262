import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { logout } from "../api/calls";
import { setLoggedOut } from "../api/session";
import { BrakeButton } from "../brake/BrakeButton";
import { labels } from "../labels";
import { NotificationButton } from "../notification/NotificationButton";
import { Icon, type IconName } from "../ui/Icon";
import { Logins } from "./Logins";
import { Logo } from "./Logo";
import { briefingPath, Link, type Route } from "./router";
import { type Theme, useTheme } from "./theme";

const THEME_ICONS: Record<Theme, IconName> = { system: "half", light: "sun", dark: "moon" };

/** The header of every page. */
export function TopBar({ route, isLoggedOut, onHelp }: { route: Route; isLoggedOut: boolean; onHelp: () => void }) {
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
          {labels.shell.brand}
        </Link>
        <nav aria-label={labels.shell.pages}>
          {!isLoggedOut && (
            <Link to={briefingPath} current={route.page === "briefing"}>
              {labels.common.briefing}
            </Link>
          )}
        </nav>
        <div className="top-actions">
          {!isLoggedOut && <BrakeButton />}
          {!isLoggedOut && <NotificationButton />}
          <button
            type="button"
            className="icon-button"
            onClick={nextTheme}
            aria-label={labels.shell.theme(theme)}
            title={labels.shell.theme(theme)}
          >
            <Icon name={THEME_ICONS[theme]} />
          </button>
          <button
            type="button"
            className="icon-button"
            onClick={onHelp}
            aria-label={labels.shell.shortcuts}
            title={labels.shell.shortcutsHint}
          >
            <Icon name="keys" />
          </button>
          {!isLoggedOut && (
            <button
              type="button"
              className="icon-button"
              onClick={() => setLoginListOpen(true)}
              aria-label={labels.login.list}
              title={labels.login.list}
            >
              <Icon name="device" />
            </button>
          )}
          {!isLoggedOut && (
            <button
              type="button"
              className="icon-button"
              onClick={() => void logOut()}
              aria-label={labels.login.logOut}
              title={labels.login.logOut}
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
