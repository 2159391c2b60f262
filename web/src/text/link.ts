// Links in text that models and other people wrote. A link leads only to the web or to a mail address, and a link whose
// text names another place shows where it leads.

export interface SafeLink {
  href: string;
  /** Where the link leads: the host of the page, or the mail address. */
  target: string;
}

/** The longest address that becomes a link. */
export const LINK_CHARS_MAX = 2_048;

/** Anything that looks like a host name, in any script and with any of the dots that browsers accept. */
const HOST_LIKE = /[\p{L}\p{N}@_-]+(?:[.․。．｡][\p{L}\p{N}_-]+)+/gu;

/** A link to the web or to a mail address; undefined for every other address, which stays text. */
export function safeLink(address: string): SafeLink | undefined {
  // Spaces, control characters and marks that reorder text hide the target, and no address needs them.
  if (address.length > LINK_CHARS_MAX || /[\s\p{Cc}\p{Cf}\\]/u.test(address)) return undefined;
  if (!/^(?:https?:\/\/|mailto:)/i.test(address) || !URL.canParse(address)) return undefined;
  const { protocol, host, href, username, password, pathname } = new URL(address);
  if (protocol === "mailto:") return /^[^@]+@[^@]+$/.test(pathname) ? { href, target: pathname } : undefined;
  // A user name before the host is only used to look like another host.
  return username === "" && password === "" ? { href, target: host } : undefined;
}

/** In a longer text of a link, a name of a place is not searched for: such a link always shows its target. */
const TEXT_CHARS_MAX = 300;

/** Whether the text of a link names a place that is not its target. */
export function isMisleading(text: string, { target }: SafeLink): boolean {
  if (text.length > TEXT_CHARS_MAX) return true;
  const named = text.match(HOST_LIKE) ?? [];
  return named.some((name) => !isSameHost(name, target));
}

function isSameHost(name: string, target: string): boolean {
  const own = target.toLowerCase().replace(/:\d+$/, "");
  const other = name.toLowerCase();
  return other === own || `www.${other}` === own;
}
