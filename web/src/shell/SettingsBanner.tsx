import { useQuery } from "@tanstack/react-query";
import { runtimeQuery } from "../api/queries";
import { labels } from "../labels";

/** Says that the settings file is invalid, or that changed settings need a restart. */
export function SettingsBanner() {
  const runtime = useQuery(runtimeQuery);
  const problem = runtime.data?.settings_problem;
  const waiting = runtime.data?.needs_restart ?? [];
  return (
    <>
      {problem && (
        <div className="connection shown" role="alert">
          <b>{labels.shell.settingsInvalid}</b> {problem.message}. {problem.hint}
        </div>
      )}
      {waiting.length > 0 && (
        <div className="connection shown" role="status">
          {labels.shell.settingsRestart(waiting.join(", "))}
        </div>
      )}
    </>
  );
}
