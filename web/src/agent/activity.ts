// What an agent does, in a word and a drawing.
import type { AgentStatus } from "../api/types";
import type { Tone } from "../run/words";
import { counted } from "../text/number";
import type { GlyphName } from "../ui/Glyph";

export interface Doing {
  word: string;
  /** The rest of the sentence that begins with the agent's name. */
  words: string;
  glyph: GlyphName;
  tone: Tone;
}

/** What an agent has cost so far. Models that count nothing are not said to cost nothing. */
export function usedWords({ token_usage: { total_tokens: tokens }, model_rounds: rounds }: AgentStatus): string {
  if (tokens === 0 && rounds === 0) return "nothing used yet";
  return [tokens > 0 ? counted(tokens, "token") : "", counted(rounds, "model round")]
    .filter((part) => part !== "")
    .join(" · ");
}

export function doing(agent: AgentStatus, isParked = false): Doing {
  const waiting = agent.pending > 0 ? `, ${counted(agent.pending, "message")} waiting` : "";
  if (agent.is_braked) {
    return {
      word: "Braked",
      words: `is braked: it keeps what comes and begins nothing${waiting}`,
      glyph: "stop",
      tone: "bad",
    };
  }
  if (agent.pending_decisions > 0) {
    const many = counted(agent.pending_decisions, "decision");
    return { word: "Asks you", words: `waits for you: ${many} to make${waiting}`, glyph: "bell", tone: "warn" };
  }
  if (isParked)
    return { word: "Out of money", words: `waits: the day's money is spent${waiting}`, glyph: "coin", tone: "warn" };
  if (agent.activity === "stuck") return { word: "Stuck", words: `cannot go on${waiting}`, glyph: "knot", tone: "bad" };
  if (agent.activity === "waiting" || agent.activity === "waiting_on_human") {
    return { word: "Waiting", words: `waits${waiting}`, glyph: "pause", tone: "warn" };
  }
  if (agent.activity === "working")
    return { word: "Working", words: `is working${waiting}`, glyph: "sun", tone: "busy" };
  if (agent.control === "paused") {
    return {
      word: "Paused",
      words: `is paused: it keeps what comes and begins nothing${waiting}`,
      glyph: "pause",
      tone: "warn",
    };
  }
  if (agent.activity === "queued")
    return { word: "Queued", words: `is about to begin${waiting}`, glyph: "queue", tone: "busy" };
  return { word: "Asleep", words: "sleeps, at no cost", glyph: "moon", tone: "quiet" };
}
