import { useId, useState } from "react";
import { labels } from "../labels";
import type { AgentFieldsProps } from "./AgentFields";
import { isInvalidLimit, type QuotaDraft, quotaOf, withQuota } from "./quotaDraft";

const { columns, hint, perDay, perSession, title } = labels.quota;

/** How often an agent may use each tool. */
export function QuotaFields({ values, errors, onChange, tools }: AgentFieldsProps & { tools: readonly string[] }) {
  const id = useId();
  const error = errors.toolQuotas;
  const [isOpen, setOpen] = useState(() => Object.keys(values.toolQuotas).length > 0);
  const change = (tool: string, limit: Partial<QuotaDraft>) =>
    onChange({ toolQuotas: withQuota(values.toolQuotas, tool, limit) });
  return (
    <details
      className="more"
      open={isOpen || error !== undefined}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>{title}</summary>
      <p id={id} className={error ? "wrong" : "quiet"} role={error ? "alert" : undefined}>
        {error ?? hint}
      </p>
      <table className="table quotas" aria-describedby={id}>
        <thead>
          <tr>
            <th scope="col">{columns.tool}</th>
            <th scope="col">{columns.perDay}</th>
            <th scope="col">{columns.perSession}</th>
          </tr>
        </thead>
        <tbody>
          {tools.map((tool) => {
            const quota = quotaOf(values.toolQuotas, tool);
            return (
              <tr key={tool}>
                <th scope="row">{tool}</th>
                <td>
                  <LimitInput
                    label={perDay(tool)}
                    value={quota.perDay}
                    onValue={(day) => change(tool, { perDay: day })}
                  />
                </td>
                <td>
                  <LimitInput
                    label={perSession(tool)}
                    value={quota.perSession}
                    onValue={(session) => change(tool, { perSession: session })}
                  />
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </details>
  );
}

interface LimitInputProps {
  label: string;
  value: string;
  onValue: (value: string) => void;
}

function LimitInput({ label, value, onValue }: LimitInputProps) {
  return (
    <input
      aria-label={label}
      aria-invalid={isInvalidLimit(value) || undefined}
      autoComplete="off"
      inputMode="numeric"
      value={value}
      onChange={(event) => onValue(event.target.value)}
    />
  );
}
