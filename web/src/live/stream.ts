// Follows a stream of events across lost connections and restarts of the daemon. Position in, events out: what was
// missed meanwhile comes first, because the server goes on after the position that is given to it.
import type { Delta, Event } from "../api/types";
import type { Standing } from "./probe";

export type StreamState = "connecting" | "live" | Exclude<Standing, "ready">;

export interface Follow {
  /** The stream's address from a position on. */
  address: (position: string) => string;
  /** Where to begin. */
  position: string;
  onEvent: (event: Event, position: string) => void;
  onDelta: (delta: Delta) => void;
  onState: (state: StreamState) => void;
  probe: () => Promise<Standing>;
  /** A fresh one-use ticket: an EventSource cannot send the header that other requests carry. */
  ticket: () => Promise<string>;
}

/** The first wait is short, because most of the time the daemon only restarts; the longest is bearable to look at. */
const WAITS_MS = [250, 500, 1_000, 2_000, 4_000];

/** A stream that held this long was a good one. What ends sooner, again and again, is not asked for in a hurry. */
const STEADY_MS = 10_000;

export class Stream {
  private source: EventSource | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private position: string;
  private openedAt = Infinity;
  /** Probes in a row that found no daemon that is ready. */
  private misses = 0;
  /** Streams in a row that a ready daemon did not keep up. */
  private refusals = 0;
  private isClosed = false;

  constructor(private readonly follow: Follow) {
    this.position = follow.position;
    follow.onState("connecting");
    void this.open();
  }

  close(): void {
    this.isClosed = true;
    this.letGo();
  }

  private letGo(): void {
    clearTimeout(this.timer);
    this.source?.close();
    this.source = undefined;
  }

  private async open(): Promise<void> {
    this.openedAt = Infinity;
    const ticket = await this.follow.ticket().catch(() => undefined);
    if (this.isClosed) return;
    if (ticket === undefined) return this.lose();
    const source = new EventSource(withTicket(this.follow.address(this.position), ticket));
    this.source = source;
    source.onopen = () => {
      this.openedAt = Date.now();
      this.follow.onState("live");
    };
    const on = (name: string, take: (data: string) => void) =>
      source.addEventListener(name, (message: MessageEvent<string>) => {
        if (message.lastEventId !== "") this.position = message.lastEventId;
        take(message.data);
      });
    on("event", (data) => this.follow.onEvent(JSON.parse(data) as Event, this.position));
    on("delta", (data) => this.follow.onDelta(JSON.parse(data) as Delta));
    // Where a place is too long to go with every event, it comes by itself now and then.
    on("cursor", () => undefined);
    on("dropped", () => this.lose());
    // The browser would try again by itself, but not after every kind of failure and never with a reason.
    source.onerror = () => this.lose();
  }

  private lose(): void {
    if (Date.now() - this.openedAt > STEADY_MS) this.refusals = 0;
    this.letGo();
    void this.retry();
  }

  /** Finds out what is wrong, and opens again as soon as nothing is. */
  private async retry(): Promise<void> {
    const standing = await this.follow.probe();
    if (this.isClosed) return;
    if (standing === "ready") {
      // A cut line is not worth a word. A stream that is refused again and again is, to a reader, a lost connection.
      this.follow.onState(this.refusals === 0 ? "connecting" : "unreachable");
      this.timer = setTimeout(() => void this.open(), waitAfter(this.refusals));
      this.misses = 0;
      this.refusals += 1;
    } else {
      this.follow.onState(standing);
      this.timer = setTimeout(() => void this.retry(), waitAfter(this.misses));
      this.misses += 1;
    }
  }
}

function withTicket(address: string, ticket: string): string {
  return `${address}${address.includes("?") ? "&" : "?"}ticket=${ticket}`;
}

function waitAfter(failures: number): number {
  return WAITS_MS[Math.min(failures, WAITS_MS.length - 1)] as number;
}
