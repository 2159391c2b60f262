import { labels } from "../labels";
import { DISPLAYS, type Display } from "./level";

/** Selects how much of the log is shown. */
export function LevelSwitch({ display, onChange }: { display: Display; onChange: (display: Display) => void }) {
  return (
    <fieldset className="switch">
      <legend className="hidden">{labels.event.level}</legend>
      {DISPLAYS.map((one) => (
        <label key={one.display} title={one.hint}>
          <input type="radio" name="display" checked={display === one.display} onChange={() => onChange(one.display)} />
          <span>{one.display}</span>
        </label>
      ))}
    </fieldset>
  );
}
