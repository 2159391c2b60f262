import { Icon } from "../ui/Icon";
import { briefingPath, Link } from "./router";
import { useTitle } from "./useTitle";

export function NotFound() {
  useTitle("No such page");
  return (
    <section className="login" aria-labelledby="not-found-title">
      <Icon name="moon" />
      <h1 id="not-found-title" tabIndex={-1}>
        There is nothing here
      </h1>
      <p>
        The address names no page. Everything begins at the <Link to={briefingPath}>briefing</Link>.
      </p>
    </section>
  );
}
