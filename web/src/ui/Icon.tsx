// The icons of the page: one path each, on a grid of 24.

const PATHS = {
  moon: "M19.5 14.2A8 8 0 0 1 9.8 4.5a8 8 0 1 0 9.7 9.7Z",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8ZM12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M18.7 5.3l-1.4 1.4M6.7 17.3l-1.4 1.4",
  dawn: "M3 17.5h18M6.5 17.5a5.5 5.5 0 0 1 11 0M12 5.5v3M4.6 9.6l2 2M19.4 9.6l-2 2M8 21h8",
  queue: "M5 7h14M5 12h9M5 17h5",
  knot: "M12 3.5 21 19.5H3L12 3.5ZM12 10v4.2M12 16.9v.1",
  alert: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18ZM12 7.5v5.2M12 16v.1",
  pause: "M8.5 6v12M15.5 6v12",
  stop: "M8.5 3.5h7l5 5v7l-5 5h-7l-5-5v-7l5-5ZM8 12h8",
  play: "M8 5.5v13l10.5-6.5L8 5.5Z",
  check: "M4.5 12.8 9.5 17.5 19.5 6.8",
  cross: "M6.5 6.5l11 11M17.5 6.5l-11 11",
  terminal: "M4.5 6.5 10 12l-5.5 5.5M12.5 18h7",
  tool: "M14.5 5.5a4.5 4.5 0 0 1 5.6 5.6l-9 9a2.6 2.6 0 0 1-3.7-3.7l.1-.1 9-9-2-1.8Z",
  spark: "M12 3.5c.6 4.6 3.3 7.4 8 8-4.7.6-7.4 3.4-8 8-.6-4.6-3.3-7.4-8-8 4.7-.6 7.4-3.4 8-8Z",
  shield: "M12 3.2 19 6v5.6c0 4.2-2.8 7.4-7 9.2-4.2-1.8-7-5-7-9.2V6l7-2.8ZM8.8 12l2.3 2.3 4.3-4.6",
  plus: "M12 5v14M5 12h14",
  send: "M5 12h13M12.5 6l6 6-6 6",
  half: "M12 4a8 8 0 1 0 0 16V4ZM12 4a8 8 0 0 1 0 16",
  folder:
    "M3.5 7a1.5 1.5 0 0 1 1.5-1.5h4.2l2 2.2H19a1.5 1.5 0 0 1 1.5 1.5V17a1.5 1.5 0 0 1-1.5 1.5H5A1.5 1.5 0 0 1 3.5 17V7Z",
  bell: "M6.2 16.5V11a5.8 5.8 0 0 1 11.6 0v5.5l1.7 1.7h-15l1.7-1.7ZM10 20.5h4",
  keys: "M4 7.5h16v9H4v-9ZM7.5 10.6v.1M11 10.6v.1M14.5 10.6v.1M8.5 13.7h7",
  chevron: "M9.5 6.5 15 12l-5.5 5.5",
  clip: "M19.5 11.5 12 19a4.6 4.6 0 0 1-6.5-6.5l8-8a3 3 0 0 1 4.3 4.3l-7.9 7.9a1.5 1.5 0 0 1-2.1-2.1l7.2-7.2",
  coin: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16ZM15 9.3c-2-2-5.8-1-5.4 1 .4 2.2 5.2 1 5.4 3.4.1 2-3.6 2.8-5.6.9M12 6.8v10.4",
  copy: "M9 8.5h10.5v11H9v-11ZM5.5 15.5h-1v-11H15v1",
  device: "M5 5.5h14v9.5H5V5.5ZM2.5 18.5h19",
  menu: "M4 7h16M4 12h16M4 17h16",
  search: "M10.5 4.5a6 6 0 1 0 0 12 6 6 0 0 0 0-12ZM15 15l5 5",
  again: "M19.5 12a7.5 7.5 0 1 1-2.2-5.3M19.5 4v4.5H15",
  leave: "M13.5 4.5H6v15h7.5M10.5 12h10M17 8l4 4-4 4",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, className }: { name: IconName; className?: string }) {
  return (
    <svg className={`icon ${className ?? ""}`} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
