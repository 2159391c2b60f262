// Why a stream does not open. An EventSource only says that it failed, so the reason is asked for separately.
import { setLoggedOut } from "../api/session";
import { tokenHeaders } from "../api/token";

export type ProbeResult = "ready" | "recovering" | "stopping" | "loggedOut" | "unreachable";

/** A daemon that has not answered by then is as good as none. */
const PROBE_MS_MAX = 5_000;

export async function probeStream(): Promise<ProbeResult> {
  try {
    const signal = AbortSignal.timeout(PROBE_MS_MAX);
    const ready = await fetch("/readyz", { signal });
    if (ready.status === 503) {
      const { status } = (await ready.json()) as { status?: string };
      // One whose storage refuses to write can still be looked at.
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
