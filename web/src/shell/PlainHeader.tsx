import { briefingPath, Link } from "./router";

/** The head of a page that has nothing to show yet, or nothing to show at all: a way back and a heading. */
export function PlainHeader({ title }: { title: string }) {
  return (
    <div className="page-head">
      <nav aria-label="Where you are" className="crumbs">
        <Link to={briefingPath}>Briefing</Link>
      </nav>
      <h1 tabIndex={-1}>{title}</h1>
    </div>
  );
}
