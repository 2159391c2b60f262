import { type ComponentProps, type ReactNode, useId } from "react";
import { labels } from "../labels";

interface FieldProps {
  label: string;
  hint?: string;
  /** What is wrong with the value; shown next to it. */
  error?: string;
  isOptional?: boolean;
}

/** What ties an input to its label, hint and error. */
interface Ties {
  id: string;
  "aria-describedby": string | undefined;
  "aria-invalid": true | undefined;
}

/** A labelled input with its hint and its error. */
export function Field({
  label,
  hint,
  error,
  isOptional,
  children,
}: FieldProps & { children: (ties: Ties) => ReactNode }) {
  const id = useId();
  const described = [error && `${id}-error`, hint && `${id}-hint`].filter(Boolean).join(" ");
  return (
    <div className="field">
      <span>
        <label htmlFor={id}>{label}</label> {isOptional && <em className="quiet">{labels.common.optional}</em>}
      </span>
      {children({ id, "aria-describedby": described || undefined, "aria-invalid": error ? true : undefined })}
      {error && (
        <small id={`${id}-error`} className="wrong" role="alert">
          {error}
        </small>
      )}
      {hint && <small id={`${id}-hint`}>{hint}</small>}
    </div>
  );
}

type Input<E extends "input" | "textarea"> = FieldProps & { value: string; onValue: (value: string) => void } & Omit<
    ComponentProps<E>,
    "value" | "onChange"
  >;

export function TextField({ label, hint, error, isOptional, onValue, ...input }: Input<"input">) {
  return (
    <Field label={label} hint={hint} error={error} isOptional={isOptional}>
      {(ties) => (
        <input
          autoComplete="off"
          spellCheck={false}
          {...input}
          {...ties}
          onChange={(event) => onValue(event.target.value)}
        />
      )}
    </Field>
  );
}

export function TextArea({ label, hint, error, isOptional, onValue, ...input }: Input<"textarea">) {
  return (
    <Field label={label} hint={hint} error={error} isOptional={isOptional}>
      {(ties) => <textarea rows={3} {...input} {...ties} onChange={(event) => onValue(event.target.value)} />}
    </Field>
  );
}

interface SelectProps extends FieldProps {
  value: string;
  onValue: (value: string) => void;
  /** Values and their texts. */
  options: readonly (readonly [string, string])[];
  disabled?: boolean;
}

export function SelectField({ label, hint, error, isOptional, value, onValue, options, disabled }: SelectProps) {
  return (
    <Field label={label} hint={hint} error={error} isOptional={isOptional}>
      {(ties) => (
        <select {...ties} value={value} disabled={disabled} onChange={(event) => onValue(event.target.value)}>
          {options.map(([one, text]) => (
            <option key={one} value={one}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

interface CheckProps {
  label: string;
  hint?: string;
  checked: boolean;
  onValue: (checked: boolean) => void;
}

export function CheckField({ label, hint, checked, onValue }: CheckProps) {
  const id = useId();
  return (
    <div className="check">
      <label>
        <input
          type="checkbox"
          checked={checked}
          onChange={(event) => onValue(event.target.checked)}
          aria-describedby={hint ? id : undefined}
        />
        {label}
      </label>
      {hint && <small id={id}>{hint}</small>}
    </div>
  );
}

interface RadioListProps<T extends string> {
  label: string;
  error?: string;
  value: string;
  onValue: (value: T) => void;
  /** Values, their names, and what each means. */
  options: readonly (readonly [T, string, string])[];
}

/** One of a few values, each with a sentence about it. */
export function RadioList<T extends string>({ label, error, value, onValue, options }: RadioListProps<T>) {
  const id = useId();
  return (
    <fieldset className="checks radios" aria-describedby={error ? `${id}-error` : undefined}>
      <legend>{label}</legend>
      {options.map(([one, name, meaning]) => (
        <label key={one}>
          <input type="radio" name={id} checked={value === one} onChange={() => onValue(one)} />
          <span>
            {name}
            <small>{meaning}</small>
          </span>
        </label>
      ))}
      {error && (
        <small id={`${id}-error`} className="wrong" role="alert">
          {error}
        </small>
      )}
    </fieldset>
  );
}

interface ChoiceProps<T extends string> {
  label: string;
  value: T;
  onValue: (value: T) => void;
  options: readonly (readonly [T, string])[];
}

/** One of a few values, all of which are shown. */
export function Choice<T extends string>({ label, value, onValue, options }: ChoiceProps<T>) {
  const name = useId();
  return (
    <fieldset className="choice">
      <legend>{label}</legend>
      <div className="switch">
        {options.map(([one, text]) => (
          <label key={one}>
            <input type="radio" name={name} checked={value === one} onChange={() => onValue(one)} />
            <span>{text}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
