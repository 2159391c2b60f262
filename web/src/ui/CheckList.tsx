import { useId, useState } from "react";

interface CheckListProps {
  label: string;
  hint?: string;
  error?: string;
  /** What is shown when there is nothing to choose from. */
  none?: string;
  /** Values and their texts. */
  options: readonly (readonly [string, string])[];
  values: readonly string[];
  onValues: (values: readonly string[]) => void;
  /** How many values are chosen, of a long list that is closed until a person opens it. */
  summary?: (count: number) => string;
}

/** Any number of values. */
export function CheckList({ label, hint, error, none, options, values, onValues, summary }: CheckListProps) {
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  const toggle = (value: string) =>
    onValues(values.includes(value) ? values.filter((one) => one !== value) : [...values, value]);
  const list = (
    <fieldset className="checks" aria-describedby={hint || error ? id : undefined}>
      <legend>{label}</legend>
      {options.length === 0 && <p className="quiet">{none}</p>}
      <div>
        {options.map(([value, text]) => (
          <label key={value}>
            <input type="checkbox" checked={values.includes(value)} onChange={() => toggle(value)} /> {text}
          </label>
        ))}
      </div>
      <small id={id} className={error ? "wrong" : undefined} role={error ? "alert" : undefined}>
        {error ?? hint}
      </small>
    </fieldset>
  );
  if (!summary) return list;
  return (
    <details
      className="more"
      open={isOpen || error !== undefined}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>{summary(values.length)}</summary>
      {list}
    </details>
  );
}
