import { Icon } from "../ui/Icon";

/** Nobody should take the demonstration for thinking. */
export function DemoNotice() {
  return (
    <aside className="notice" aria-label="About the model">
      <Icon name="spark" />
      <p>
        <b>The model is the demo script.</b> It answers every message with the same three small steps and only pretends
        to think. All the rest is real: the commands, the confinement, the log.
      </p>
    </aside>
  );
}
