import { labels } from "../labels";
import { briefingPath, Link } from "./router";

/** The header of a page without content yet: breadcrumbs and a heading. */
export function PlainHeader({ title }: { title: string }) {
  return (
    <div className="page-head">
      <nav aria-label={labels.common.breadcrumbs} className="crumbs">
        <Link to={briefingPath}>{labels.common.briefing}</Link>
      </nav>
      <h1 tabIndex={-1}>{title}</h1>
    </div>
  );
}
