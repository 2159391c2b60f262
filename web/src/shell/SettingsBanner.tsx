import { useQuery } from "@tanstack/react-query";
import { runtimeQuery } from "../api/queries";
import { labels } from "../labels";
import { toSentence } from "../text/sentence";
import { InlineText } from "../ui/InlineText";

/** How often a visible page asks for the state of its settings. No event reports a changed file, and a hidden page does not ask. */
const CHECK_MS = 15_000;

/** Says that the settings file is invalid, or that changed settings need a restart. */
export function SettingsBanner() {
  const runtime = useQuery({ ...runtimeQuery, refetchInterval: CHECK_MS, refetchOnWindowFocus: "always" });
  const problem = runtime.data?.settings_problem;
  const waiting = runtime.data?.needs_restart ?? [];
  return (
    <>
      {problem && (
        <div className="connection shown" role="alert">
          <b>{problem.code === "policy_invalid" ? labels.shell.policyInvalid : labels.shell.settingsInvalid}</b>{" "}
          {/* The message begins with the name of a file, which keeps its case. */}
          <InlineText text={`${problem.message}. ${toSentence(problem.hint)}`} />
        </div>
      )}
      {waiting.length > 0 && (
        <div className="connection shown" role="status">
          <InlineText text={labels.shell.settingsRestart(waiting.join(", "))} />
        </div>
      )}
    </>
  );
}
