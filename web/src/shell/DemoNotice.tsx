import { labels } from "../labels";
import { Icon } from "../ui/Icon";

/** Says that replies come from a script and not from a model. */
export function DemoNotice() {
  return (
    <aside className="notice" aria-label={labels.shell.about}>
      <Icon name="spark" />
      <p>
        <b>{labels.shell.demo}</b> {labels.shell.demoHint}
      </p>
    </aside>
  );
}
