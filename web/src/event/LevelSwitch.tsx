import { DISPLAYS, type Display } from "./level";

/** How much of the log is shown. */
export function LevelSwitch({ display, onChange }: { display: Display; onChange: (display: Display) => void }) {
  return (
    <fieldset className="switch">
      <legend className="hidden">How much is shown</legend>
      {DISPLAYS.map((one) => (
        <label key={one.display} title={one.hint}>
          <input type="radio" name="display" checked={display === one.display} onChange={() => onChange(one.display)} />
          <span>{one.display}</span>
        </label>
      ))}
    </fieldset>
  );
}
