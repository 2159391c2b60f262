import { useState } from "react";
import { labels } from "../labels";
import { RadioList, TextArea } from "../ui/Field";
import type { AgentFieldsProps } from "./AgentFields";
import { isSandboxChanged, SANDBOX_LISTS } from "./sandboxDraft";

const { agentForm, sandboxForm } = labels;

/** When an agent asks, and what its sandbox allows beyond its workspace. */
export function SandboxFields({ values, errors, onChange }: AgentFieldsProps) {
  const hasErrors = SANDBOX_LISTS.some((list) => errors[list] !== undefined);
  const [isOpen, setOpen] = useState(() => isSandboxChanged(values.sandbox));
  return (
    <section className="panel form-section" aria-labelledby="sandbox-title">
      <h2 id="sandbox-title">{sandboxForm.title}</h2>
      <RadioList
        label={sandboxForm.mode}
        error={errors.permissionMode}
        options={sandboxForm.modes}
        value={values.permissionMode}
        onValue={(permissionMode) => onChange({ permissionMode })}
      />
      <details className="more" open={isOpen || hasErrors} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>{sandboxForm.scope}</summary>
        <div className="form">
          <p className="quiet">{sandboxForm.scopeHint}</p>
          {errors.sandbox && (
            <p className="wrong" role="alert">
              {errors.sandbox}
            </p>
          )}
          {SANDBOX_LISTS.map((list) => (
            <TextArea
              key={list}
              label={sandboxForm.lists[list].label}
              hint={sandboxForm.lists[list].hint}
              placeholder={sandboxForm.lists[list].example}
              isOptional
              rows={2}
              spellCheck={false}
              value={values.sandbox[list]}
              onValue={(text) => onChange({ sandbox: { ...values.sandbox, [list]: text } })}
              error={errors[list]}
            />
          ))}
        </div>
      </details>
      <TextArea
        label={agentForm.guardrails}
        hint={agentForm.guardrailsHint}
        placeholder={agentForm.guardrailsExample}
        isOptional
        rows={3}
        spellCheck={false}
        value={values.guardrails}
        onValue={(guardrails) => onChange({ guardrails })}
        error={errors.guardrails}
      />
    </section>
  );
}
