import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { agentsQuery, categoriesQuery, toolsQuery } from "../api/queries";
import type { AgentSettings } from "../api/types";
import { labels } from "../labels";
import { joinList } from "../text/number";
import { CheckList } from "../ui/CheckList";
import { SelectField, TextField } from "../ui/Field";
import type { AgentFieldsProps } from "./AgentFields";
import { ALL_CATEGORIES, inOrder, toolNames } from "./draft";
import { QuotaFields } from "./QuotaFields";

const { agentForm } = labels;

/** The fields that are shown when a person opens them, or when one has an error. */
const ADVANCED = ["capabilities", "mayStart", "categories", "foreignTargets", "channels"] as const;

/** What an agent may do: its folder, tools and capabilities, the agents it may start, and the categories it may use. */
export function AccessFields({ settings, ...fields }: AgentFieldsProps & { settings?: AgentSettings }) {
  const { values, errors, onChange } = fields;
  const agents = useQuery(agentsQuery).data ?? [];
  const categories = useQuery(categoriesQuery).data ?? [];
  const known = useQuery(toolsQuery).data ?? [];
  const names = toolNames(values, known);
  const tools = names.map((name) => [name, name] as const);
  const askedOfAll = settings?.ask_tools_of_all_agents ?? [];
  const others = agents.filter((agent) => agent.agent_id !== values.name);
  const [isOpen, setOpen] = useState(false);
  const hasErrors = ADVANCED.some((field) => errors[field] !== undefined);
  const isAll = values.categories.includes(ALL_CATEGORIES);
  const setCategories = (chosen: readonly string[]) => {
    const isAllNew = chosen.includes(ALL_CATEGORIES) && !isAll;
    onChange({ categories: isAllNew ? [ALL_CATEGORIES] : chosen.filter((one) => one !== ALL_CATEGORIES || isAllNew) });
  };
  return (
    <section className="panel form-section" aria-labelledby="access-title">
      <h2 id="access-title">{agentForm.access}</h2>
      <TextField
        label={labels.agent.workspace}
        hint={labels.agent.workspaceHint}
        placeholder={labels.agent.workspaceExample}
        isOptional
        value={values.workspace}
        onValue={(workspace) => onChange({ workspace })}
        error={errors.workspace}
        maxLength={4096}
      />
      <CheckList
        label={agentForm.askTools}
        hint={askedOfAll.length > 0 ? agentForm.askToolsOfAll(joinList(askedOfAll)) : agentForm.askToolsHint}
        error={errors.askTools}
        summary={agentForm.askCount}
        options={tools}
        values={values.askTools}
        onValues={(askTools) => onChange({ askTools })}
      />
      <CheckList
        label={agentForm.denyTools}
        hint={agentForm.denyToolsHint}
        error={errors.denyTools}
        summary={agentForm.denyCount}
        options={tools}
        values={values.denyTools}
        onValues={(denyTools) => onChange({ denyTools })}
      />
      <SelectField
        label={agentForm.webSearch}
        hint={agentForm.webSearchHint}
        value={values.webSearch}
        onValue={(webSearch) => onChange({ webSearch })}
        error={errors.webSearch}
        options={Object.entries(agentForm.webSearchNames)}
      />
      <QuotaFields {...fields} tools={names} />
      <details className="more" open={isOpen || hasErrors} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>{agentForm.advanced}</summary>
        <div className="form">
          <CheckList
            label={agentForm.capabilities}
            hint={agentForm.capabilitiesHint}
            error={errors.capabilities}
            options={Object.entries(agentForm.capabilityNames)}
            values={values.capabilities}
            onValues={(capabilities) => onChange({ capabilities: inOrder(capabilities) })}
          />
          <CheckList
            label={agentForm.mayStart}
            hint={agentForm.mayStartHint}
            none={agentForm.mayStartNone}
            error={errors.mayStart}
            options={others.map((agent) => [agent.agent_id, agent.agent_id])}
            values={values.mayStart}
            onValues={(mayStart) => onChange({ mayStart })}
          />
          <CheckList
            label={agentForm.categories}
            hint={agentForm.categoriesHint}
            error={errors.categories}
            options={[
              [ALL_CATEGORIES, agentForm.allCategories],
              ...categories.map((one) => [one.category_id, one.name] as const),
            ]}
            values={values.categories}
            onValues={setCategories}
          />
          <SelectField
            label={agentForm.foreignTargets}
            hint={agentForm.foreignTargetsHint}
            value={values.foreignTargets}
            onValue={(foreignTargets) => onChange({ foreignTargets })}
            error={errors.foreignTargets}
            options={Object.entries(agentForm.foreignTargetNames)}
          />
          <CheckList
            label={agentForm.channels}
            hint={agentForm.channelsHint}
            error={errors.channels}
            options={Object.entries(agentForm.channelNames)}
            values={values.channels}
            onValues={(channels) => onChange({ channels })}
          />
        </div>
      </details>
    </section>
  );
}
