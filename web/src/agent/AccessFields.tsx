import { useQuery } from "@tanstack/react-query";
import { agentsQuery, categoriesQuery, toolsQuery } from "../api/queries";
import type { AgentSettings } from "../api/types";
import { labels } from "../labels";
import { joinList } from "../text/number";
import { CheckList } from "../ui/CheckList";
import { SelectField, TextField } from "../ui/Field";
import type { AgentFieldsProps } from "./AgentFields";
import { ALL_CATEGORIES, toolNames } from "./draft";

const { agentForm } = labels;

/** What an agent may do: its folder, its tools, the agents it may start, and the categories it may use. */
export function AccessFields({ values, errors, onChange, settings }: AgentFieldsProps & { settings?: AgentSettings }) {
  const agents = useQuery(agentsQuery).data ?? [];
  const categories = useQuery(categoriesQuery).data ?? [];
  const known = useQuery(toolsQuery).data ?? [];
  const tools = toolNames(values, known).map((name) => [name, name] as const);
  const askedOfAll = settings?.ask_tools_of_all_agents ?? [];
  const others = agents.filter((agent) => agent.agent_id !== values.name);
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
        options={tools}
        values={values.askTools}
        onValues={(askTools) => onChange({ askTools })}
      />
      <CheckList
        label={agentForm.denyTools}
        hint={agentForm.denyToolsHint}
        error={errors.denyTools}
        options={tools}
        values={values.denyTools}
        onValues={(denyTools) => onChange({ denyTools })}
      />
      <details className="more">
        <summary>{agentForm.advanced}</summary>
        <div className="form">
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
            label={agentForm.externalCauses}
            hint={agentForm.externalCausesHint}
            value={values.externalCauses}
            onValue={(externalCauses) => onChange({ externalCauses })}
            error={errors.externalCauses}
            options={Object.entries(agentForm.externalCauseNames)}
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
