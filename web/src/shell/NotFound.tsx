import { labels } from "../labels";
import { Icon } from "../ui/Icon";
import { briefingPath, Link } from "./router";
import { useTitle } from "./useTitle";

export function NotFound() {
  useTitle(labels.shell.notFound);
  return (
    <section className="login" aria-labelledby="not-found-title">
      <Icon name="moon" />
      <h1 id="not-found-title" tabIndex={-1}>
        {labels.shell.notFound}
      </h1>
      <p>
        {labels.shell.notFoundHint} <Link to={briefingPath}>{labels.shell.notFoundLink}</Link>.
      </p>
    </section>
  );
}
