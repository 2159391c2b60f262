import { labels } from "../labels";
import { TextArea, TextField } from "../ui/Field";
import { type AgentDraft, type AgentErrors, byteCount, INSTRUCTIONS_BYTES_MAX } from "./draft";

export interface AgentFieldsProps {
  values: AgentDraft;
  errors: AgentErrors;
  onChange: (change: Partial<AgentDraft>) => void;
}

const { agentForm } = labels;

/** The name, description and instructions of an agent. */
export function BasicFields({ values, errors, onChange, isNew }: AgentFieldsProps & { isNew: boolean }) {
  const bytes = byteCount(values.instructions);
  return (
    <section className="panel form-section" aria-labelledby="basics-title">
      <h2 id="basics-title">{isNew ? labels.agent.new : agentForm.edit(values.name)}</h2>
      {isNew && (
        <TextField
          label={labels.agent.name}
          hint={labels.agent.nameHint}
          placeholder={labels.agent.nameExample}
          value={values.name}
          onValue={(name) => onChange({ name })}
          error={errors.name}
          maxLength={64}
          required
        />
      )}
      <TextField
        label={agentForm.description}
        hint={agentForm.descriptionHint}
        isOptional
        value={values.description}
        onValue={(description) => onChange({ description })}
        error={errors.description}
        maxLength={500}
        spellCheck
      />
      <div className="counted">
        <TextArea
          label={agentForm.instructions}
          hint={agentForm.instructionsHint}
          isOptional
          rows={14}
          value={values.instructions}
          onValue={(instructions) => onChange({ instructions })}
          error={errors.instructions}
        />
        <small className={bytes > INSTRUCTIONS_BYTES_MAX ? "wrong" : "quiet"}>
          {agentForm.bytes(bytes, INSTRUCTIONS_BYTES_MAX)}
        </small>
      </div>
    </section>
  );
}
