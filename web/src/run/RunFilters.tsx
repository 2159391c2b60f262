import { useQuery } from "@tanstack/react-query";
import { agentsQuery } from "../api/queries";
import type { StatusCounts } from "../api/types";
import { labels } from "../labels";
import { formatInteger } from "../text/number";
import { SelectField, TextField } from "../ui/Field";
import { type Filters, PERIODS, STATUSES, type StatusName } from "./filters";

interface RunFiltersProps {
  filters: Filters;
  counts: StatusCounts | undefined;
  onChange: (changed: Partial<Filters>) => void;
}

/** The search box, the choices, and one chip per status with its number of runs. */
export function RunFilters({ filters, counts, onChange }: RunFiltersProps) {
  const agents = useQuery(agentsQuery).data ?? [];
  // An agent in the address that no longer exists can still have runs.
  const names = [...new Set([...agents.map((agent) => agent.agent_id), ...(filters.agent ? [filters.agent] : [])])];
  const toggle = (status: StatusName) => {
    const { statuses } = filters;
    onChange({
      statuses: statuses.includes(status) ? statuses.filter((one) => one !== status) : [...statuses, status],
    });
  };
  return (
    <search className="run-filters">
      <div className="fields">
        <TextField
          label={labels.run.search}
          type="search"
          placeholder={labels.run.searchHint}
          value={filters.search}
          onValue={(search) => onChange({ search })}
          maxLength={200}
        />
        <SelectField
          label={labels.run.agent}
          value={filters.agent}
          onValue={(agent) => onChange({ agent })}
          options={[["", labels.run.all], ...names.map((name) => [name, name] as const)]}
        />
        <SelectField
          label={labels.run.cause}
          value={filters.cause}
          onValue={(cause) => onChange({ cause })}
          options={[["", labels.run.all], ...Object.entries(labels.cause.shortKinds)]}
        />
        <SelectField
          label={labels.run.period}
          value={filters.period}
          onValue={(period) => onChange({ period })}
          options={[
            ["", labels.run.all],
            ...Object.keys(PERIODS).map((one) => [one, labels.run.periods[one] ?? one] as const),
          ]}
        />
      </div>
      <fieldset className="chips">
        <legend className="hidden">{labels.run.status}</legend>
        {STATUSES.map((status) => (
          <label key={status} className="chip">
            <input type="checkbox" checked={filters.statuses.includes(status)} onChange={() => toggle(status)} />
            <span>
              {labels.run.filterStatuses[status]} <b>{countText(counts, status)}</b>
            </span>
          </label>
        ))}
      </fieldset>
    </search>
  );
}

/** The number of runs; a dash keeps its place until it is known. */
function countText(counts: StatusCounts | undefined, status: StatusName): string {
  if (!counts) return "–";
  const isMore = counts.is_lower_bound && counts[status] > 0;
  return `${formatInteger(counts[status])}${isMore ? "+" : ""}`;
}
