// Texts of the frame around every page: header, login, connection and errors.

export const connection = {
  unreachable: "Connection lost. Reconnecting… The data on this page may be out of date.",
  recovering: "Wakeful is starting and recovering open runs.",
  stopping: "Wakeful is stopping. Open runs continue after the next start.",
};

export const failure = {
  pageError: (message: string) => `This page failed: ${message}`,
  pageErrorHint: "Reload the page.",
  renderAction: "show this page",
  unexpected: (status: number) => `The server responded with status ${status} and no error details.`,
  unexpectedHint: "Try again.",
  unreachable: "Wakeful does not respond.",
  unreachableHint: "Check that it is running: `wakeful status`.",
};

export const login = {
  action: "log in with this link",
  command: "wakeful open",
  hint: "It opens this page with a one-time link. This browser then stays logged in for 30 days, or until you log out.",
  instruction: "To log in, run this command on the machine where Wakeful runs:",
  title: "You are not logged in",
  tabTitle: "Not logged in",
  current: "this browser",
  expires: "expires",
  lastUsed: "Last used",
  list: "Logged-in browsers",
  listAction: "load the logins",
  loading: "Loading logins",
  loggedIn: "logged in",
  logOut: "Log out",
  revoke: "Revoke",
  revokeAction: "revoke this login",
  revokeOne: (name: string, id: string) => `Revoke ${name} ${id}`,
};

export const setup = {
  title: "Set-up",
  sections: {
    agents: "Agents",
    providers: "Providers and keys",
    secrets: "Secrets",
    audit: "Audit",
    settings: "Settings",
    triggers: "Triggers",
    sources: "Sources",
  },
};

export const notification = {
  button: {
    off: "Turn on notifications",
    on: "Turn off notifications",
    blocked: "Notifications are blocked in the settings of the browser",
  },
  decision: (tool: string) => `Needs a decision about ${tool}.`,
  failed: "A run failed.",
  outOfRounds: "A run used all its model rounds.",
  parked: "Waiting for budget: the next request may exceed the cap.",
  quarantined: "A run is quarantined.",
  stuck: "The agent cannot continue.",
  unknown: "An action was interrupted, and its outcome is unknown.",
};

export const shell = {
  policyInvalid: "A policy file is invalid.",
  settingsInvalid: "config.toml is invalid, and the last valid settings apply.",
  settingsRestart: (names: string) =>
    `Restart Wakeful to apply changed settings: ${names}. Run \`wakeful daemon restart\`.`,
  about: "About the model",
  brand: "Wakeful",
  demo: "The model is a demo script.",
  demoDismiss: "Hide this notice",
  demoHint: "It answers every message with the same three steps. The commands, the sandbox and the log are real.",
  menu: "Menu",
  notFound: "Page not found",
  notFoundHint: "No page has this address. Go to the",
  notFoundLink: "briefing",
  pages: "Pages",
  shortcuts: "Keyboard shortcuts",
  shortcutsHint: "Keyboard shortcuts (?)",
  shortcutKeys: [
    ["g then b", "Go to the briefing"],
    ["/", "Write a message"],
    ["Enter", "Send the message"],
    ["Shift + Enter", "New line in the message"],
    ["Esc", "Leave the message box, or close a dialog"],
    ["?", "Show this list"],
  ] as readonly (readonly [string, string])[],
  skip: "Skip to content",
  tabTitle: (title: string) => `${title} · Wakeful`,
  theme: (theme: string) => `Theme: ${theme}`,
};
