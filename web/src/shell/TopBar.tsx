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
import { Menu } from "./Menu";
import { Navigation } from "./Navigation";
import { briefingPath, Link, type Route } from "./router";
import { type Theme, useTheme } from "./theme";

const THEME_ICONS: Record<Theme, IconName> = { system: "half", light: "sun", dark: "moon" };

/** The header of every page. On a phone, everything but the name and the brake is in a menu. */
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
        <Menu>
          <nav aria-label={labels.shell.pages}>{!isLoggedOut && <Navigation route={route} />}</nav>
          <div className="top-actions">
            {!isLoggedOut && <NotificationButton />}
            <Action icon={THEME_ICONS[theme]} label={labels.shell.theme(theme)} onPress={nextTheme} keepsMenu />
            <Action icon="keys" label={labels.shell.shortcuts} title={labels.shell.shortcutsHint} onPress={onHelp} />
            {!isLoggedOut && (
              <>
                <Action icon="device" label={labels.login.list} onPress={() => setLoginListOpen(true)} />
                <Action icon="leave" label={labels.login.logOut} onPress={() => void logOut()} />
              </>
            )}
          </div>
        </Menu>
        {!isLoggedOut && <BrakeButton />}
      </header>
      {isLoginListOpen && !isLoggedOut && (
        <Logins onClose={() => setLoginListOpen(false)} onLogout={() => void logOut()} />
      )}
    </>
  );
}

interface ActionProps {
  icon: IconName;
  label: string;
  title?: string;
  onPress: () => void;
  /** Whether the menu stays open, because the button may be pressed again. */
  keepsMenu?: boolean;
}

/** A button of the header: an icon, with its label in the menu of a phone. */
function Action({ icon, label, title = label, onPress, keepsMenu = false }: ActionProps) {
  return (
    <button
      type="button"
      className="icon-button"
      onClick={onPress}
      aria-label={label}
      title={title}
      data-keeps-menu={keepsMenu || undefined}
    >
      <Icon name={icon} />
      <span className="menu-label">{label}</span>
    </button>
  );
}
