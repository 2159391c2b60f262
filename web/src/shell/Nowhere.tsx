import { Glyph } from "../ui/Glyph";
import { briefingPath, Link } from "./router";
import { useTitle } from "./useTitle";

export function Nowhere() {
  useTitle("No such page");
  return (
    <section className="login" aria-labelledby="nowhere-title">
      <Glyph name="moon" />
      <h1 id="nowhere-title" tabIndex={-1}>
        There is nothing here
      </h1>
      <p>
        The address names no page. Everything begins at the <Link to={briefingPath}>briefing</Link>.
      </p>
    </section>
  );
}
