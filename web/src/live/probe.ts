// Finds out why a stream does not open: an EventSource reports no reason, so the page asks the daemon.
import { setLoggedOut } from "../api/session";
import { tokenHeaders } from "../api/token";

export type ProbeResult = "ready" | "recovering" | "stopping" | "loggedOut" | "unreachable";

/** A daemon that has not responded by then counts as unreachable. */
const PROBE_MS_MAX = 5_000;

export async function probeStream(): Promise<ProbeResult> {
  try {
    const signal = AbortSignal.timeout(PROBE_MS_MAX);
    const ready = await fetch("/readyz", { signal });
    if (ready.status === 503) {
      const { status } = (await ready.json()) as { status?: string };
      // A daemon whose storage cannot write still serves reads.
      if (status !== "failing") return status === "stopping" ? "stopping" : "recovering";
    }
    const { status } = await fetch("/api/runtime/status", { signal, headers: tokenHeaders() });
    setLoggedOut(status === 401);
    if (status === 401) return "loggedOut";
    return status === 200 ? "ready" : "unreachable";
  } catch {
    return "unreachable";
  }
}
