import { labels } from "../labels";
import { Icon } from "../ui/Icon";
import { toggleNotifications, useNotificationState } from "./permission";

/** Turns notifications of the browser on and off. */
export function NotificationButton() {
  const state = useNotificationState();
  if (state === "unsupported") return null;
  const label = labels.notification.button[state];
  return (
    <button
      type="button"
      className={`icon-button ${state === "on" ? "on" : ""}`}
      aria-pressed={state === "on"}
      aria-label={label}
      title={label}
      disabled={state === "blocked"}
      data-keeps-menu
      onClick={() => void toggleNotifications()}
    >
      <Icon name="bell" />
      <span className="menu-label">{label}</span>
    </button>
  );
}
