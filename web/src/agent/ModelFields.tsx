import { useQuery } from "@tanstack/react-query";
import { useId } from "react";
import { modelsQuery } from "../api/queries";
import { labels } from "../labels";
import { CheckField, TextField } from "../ui/Field";
import type { AgentFieldsProps } from "./AgentFields";
import { ModelOptions } from "./ModelOptions";

const { agentForm } = labels;

/** The end of an error that the box below the field replaces. */
const SKIP_TEST = /;? `--no-test` .*$/;

/** The models of an agent and what it may spend. */
export function ModelFields({ values, errors, onChange }: AgentFieldsProps) {
  const modelsId = useId();
  const models = useQuery(modelsQuery).data ?? [];
  const defaultModel = models.find((model) => model.is_default)?.model_ref;
  return (
    <section className="panel form-section" aria-labelledby="model-title">
      <h2 id="model-title">{agentForm.modelAndBudget}</h2>
      <TextField
        label={agentForm.model}
        hint={agentForm.modelHint}
        isOptional
        value={values.model}
        onValue={(model) => onChange({ model })}
        error={errors.model?.replace(SKIP_TEST, "")}
        list={modelsId}
        placeholder={defaultModel ?? agentForm.modelDefault}
      />
      <ModelOptions id={modelsId} />
      <TextField
        label={agentForm.fallbacks}
        hint={agentForm.fallbacksHint}
        isOptional
        value={values.fallbacks}
        onValue={(fallbacks) => onChange({ fallbacks })}
        error={errors.fallbacks?.replace(SKIP_TEST, "")}
      />
      {(errors.model !== undefined || errors.fallbacks !== undefined || values.skipsModelTest) && (
        <CheckField
          label={agentForm.skipModelTest}
          hint={agentForm.skipModelTestHint}
          checked={values.skipsModelTest}
          onValue={(skipsModelTest) => onChange({ skipsModelTest })}
        />
      )}
      <div className="fields">
        <TextField
          label={agentForm.dailyUsd}
          hint={agentForm.dailyUsdHint}
          isOptional
          value={values.dailyUsd}
          onValue={(dailyUsd) => onChange({ dailyUsd })}
          error={errors.dailyUsd}
          inputMode="decimal"
        />
        <TextField
          label={agentForm.maxRounds}
          hint={agentForm.maxRoundsHint}
          isOptional
          value={values.maxRounds}
          onValue={(maxRounds) => onChange({ maxRounds })}
          error={errors.maxRounds}
          inputMode="numeric"
        />
      </div>
    </section>
  );
}
