import { useQuery } from "@tanstack/react-query";
import { agentsQuery } from "../api/queries";
import { labels } from "../labels";
import { PERIODS } from "../run/filters";
import { SelectField, TextField } from "../ui/Field";
import { type Filters, isRunKey } from "./filters";

interface AuditFiltersProps {
  filters: Filters;
  onChange: (changed: Partial<Filters>) => void;
}

/** The choices by which audit entries are filtered. */
export function AuditFilters({ filters, onChange }: AuditFiltersProps) {
  const agents = useQuery(agentsQuery).data ?? [];
  const names = [...new Set([...agents.map((agent) => agent.agent_id), ...(filters.agent ? [filters.agent] : [])])];
  const { audit } = labels;
  const all = ["", audit.all] as const;
  return (
    <search className="run-filters audit-filters">
      <div className="fields">
        <SelectField
          label={audit.decision}
          value={filters.decision}
          onValue={(decision) => onChange({ decision })}
          options={[all, ...Object.entries(audit.decisions)]}
        />
        <SelectField
          label={audit.stage}
          value={filters.stage}
          onValue={(stage) => onChange({ stage })}
          options={[all, ...Object.entries(audit.stages)]}
        />
        <SelectField
          label={audit.agent}
          value={filters.agent}
          onValue={(agent) => onChange({ agent })}
          options={[all, ...names.map((name) => [name, name] as const)]}
        />
        <SelectField
          label={audit.period}
          value={filters.period}
          onValue={(period) => onChange({ period })}
          options={[all, ...Object.keys(PERIODS).map((one) => [one, labels.run.periods[one] ?? one] as const)]}
        />
        <TextField
          label={audit.tool}
          type="search"
          value={filters.tool}
          onValue={(tool) => onChange({ tool })}
          maxLength={200}
        />
        <TextField
          label={audit.run}
          type="search"
          placeholder={audit.runHint}
          value={filters.run}
          onValue={(run) => onChange({ run: run.trim() })}
          error={isRunKey(filters.run) ? undefined : audit.runWrong}
          maxLength={64}
        />
      </div>
    </search>
  );
}
