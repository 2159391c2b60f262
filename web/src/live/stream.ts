// Follows a stream of events across lost connections and restarts of the daemon. The server continues after the position
// that a new connection names, so no event is missed.
import type { Delta, Event } from "../api/types";
import type { ProbeResult } from "./probe";

export type StreamState = "connecting" | "live" | Exclude<ProbeResult, "ready">;

export interface StreamOptions {
  /** The address of the stream after a position. */
  address: (position: string) => string;
  /** Where to start. */
  position: string;
  onEvent: (event: Event, position: string) => void;
  onDelta: (delta: Delta) => void;
  onState: (state: StreamState) => void;
  probe: () => Promise<ProbeResult>;
  /** Creates a one-time ticket: an EventSource cannot send the token header. */
  ticket: () => Promise<string>;
}

/** The first delay is short, because most of the time the daemon only restarts. */
const RETRY_DELAYS_MS = [250, 500, 1_000, 2_000, 4_000];

/** A stream that was open this long counts as stable. Streams that end sooner are retried with longer delays. */
const STEADY_MS = 10_000;

export class Stream {
  private source: EventSource | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private position: string;
  private openedAt = Infinity;
  /** Consecutive probes that found no ready daemon. */
  private failedProbes = 0;
  /** Consecutive streams that a ready daemon closed early. */
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
    const on = (name: string, handle: (data: string) => void) =>
      source.addEventListener(name, (message: MessageEvent<string>) => {
        if (message.lastEventId !== "") this.position = message.lastEventId;
        handle(message.data);
      });
    on("event", (data) => this.options.onEvent(JSON.parse(data) as Event, this.position));
    on("delta", (data) => this.options.onDelta(JSON.parse(data) as Delta));
    // A position that is too long to send with every event arrives in an event of its own.
    on("cursor", () => undefined);
    on("dropped", () => this.reconnect());
    // The browser retries by itself, but not after every kind of failure and without a reason.
    source.onerror = () => this.reconnect();
  }

  private reconnect(): void {
    if (Date.now() - this.openedAt > STEADY_MS) this.brokenStreams = 0;
    this.disconnect();
    void this.retry();
  }

  /** Probes the daemon, and opens the stream again when it is ready. */
  private async retry(): Promise<void> {
    const result = await this.options.probe();
    if (this.isClosed) return;
    if (result === "ready") {
      // One closed connection is normal. Repeated ones are shown as a lost connection.
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
