import { useId } from "react";

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
}

/** Any number of values. */
export function CheckList({ label, hint, error, none, options, values, onValues }: CheckListProps) {
  const id = useId();
  const toggle = (value: string) =>
    onValues(values.includes(value) ? values.filter((one) => one !== value) : [...values, value]);
  return (
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
}
