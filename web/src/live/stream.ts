// Follows a stream of events across lost connections and restarts of the daemon. Position in, events out: what was
// missed meanwhile comes first, because the server goes on after the position that is given to it.
import type { Delta, Event } from "../api/types";
import type { ProbeResult } from "./probe";

export type StreamState = "connecting" | "live" | Exclude<ProbeResult, "ready">;

export interface StreamOptions {
  /** The stream's address from a position on. */
  address: (position: string) => string;
  /** Where to begin. */
  position: string;
  onEvent: (event: Event, position: string) => void;
  onDelta: (delta: Delta) => void;
  onState: (state: StreamState) => void;
  probe: () => Promise<ProbeResult>;
  /** A fresh one-use ticket: an EventSource cannot send the header that other requests carry. */
  ticket: () => Promise<string>;
}

/** The first wait is short, because most of the time the daemon only restarts; the longest is bearable to look at. */
const RETRY_DELAYS_MS = [250, 500, 1_000, 2_000, 4_000];

/** A stream that held this long was a good one. What ends sooner, again and again, is not asked for in a hurry. */
const STEADY_MS = 10_000;

export class Stream {
  private source: EventSource | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private position: string;
  private openedAt = Infinity;
  /** Probes in a row that found no daemon that is ready. */
  private failedProbes = 0;
  /** Streams in a row that a ready daemon did not keep up. */
  private brokenStreams = 0;
  private isClosed = false;

  constructor(private readonly options: StreamOptions) {
    this.position = options.position;
    options.onState("connecting");
    void this.open();
  }

  close(): void {
    this.isClosed = true;
    this.disconnect();
  }

  private disconnect(): void {
    clearTimeout(this.timer);
    this.source?.close();
    this.source = undefined;
  }

  private async open(): Promise<void> {
    this.openedAt = Infinity;
    const ticket = await this.options.ticket().catch(() => undefined);
    if (this.isClosed) return;
    if (ticket === undefined) return this.reconnect();
    const source = new EventSource(withTicket(this.options.address(this.position), ticket));
    this.source = source;
    source.onopen = () => {
      this.openedAt = Date.now();
      this.options.onState("live");
    };
    const on = (name: string, take: (data: string) => void) =>
      source.addEventListener(name, (message: MessageEvent<string>) => {
        if (message.lastEventId !== "") this.position = message.lastEventId;
        take(message.data);
      });
    on("event", (data) => this.options.onEvent(JSON.parse(data) as Event, this.position));
    on("delta", (data) => this.options.onDelta(JSON.parse(data) as Delta));
    // Where a place is too long to go with every event, it comes by itself now and then.
    on("cursor", () => undefined);
    on("dropped", () => this.reconnect());
    // The browser would try again by itself, but not after every kind of failure and never with a reason.
    source.onerror = () => this.reconnect();
  }

  private reconnect(): void {
    if (Date.now() - this.openedAt > STEADY_MS) this.brokenStreams = 0;
    this.disconnect();
    void this.retry();
  }

  /** Finds out what is wrong, and opens again as soon as nothing is. */
  private async retry(): Promise<void> {
    const result = await this.options.probe();
    if (this.isClosed) return;
    if (result === "ready") {
      // A cut line is not worth a word. A stream that is refused again and again is, to a reader, a lost connection.
      this.options.onState(this.brokenStreams === 0 ? "connecting" : "unreachable");
      this.timer = setTimeout(() => void this.open(), delayAfter(this.brokenStreams));
      this.failedProbes = 0;
      this.brokenStreams += 1;
    } else {
      this.options.onState(result);
      this.timer = setTimeout(() => void this.retry(), delayAfter(this.failedProbes));
      this.failedProbes += 1;
    }
  }
}

function withTicket(address: string, ticket: string): string {
  return `${address}${address.includes("?") ? "&" : "?"}ticket=${ticket}`;
}

function delayAfter(failures: number): number {
  return RETRY_DELAYS_MS[Math.min(failures, RETRY_DELAYS_MS.length - 1)] as number;
}
