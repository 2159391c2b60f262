import { useQuery } from "@tanstack/react-query";
import { foldersQuery } from "../api/queries";
import { labels } from "../labels";
import { Listing } from "../ui/Listing";
import { FolderRow } from "./FolderRow";

/** The folders with an answer of the operator, and the workspaces of agents. */
export function FolderList() {
  const list = useQuery(foldersQuery);
  return (
    <section aria-labelledby="folders-title">
      <h2 id="folders-title">{labels.folder.title}</h2>
      <p className="lede">{labels.folder.lede}</p>
      <Listing
        list={list}
        action={labels.folder.listAction}
        loading={labels.folder.loading}
        icon="shield"
        none={labels.folder.none}
        noneHint={labels.folder.noneHint}
      >
        {(entries) => (
          <ul className="entries">
            {entries.map((one) => (
              <FolderRow key={one.folder} folder={one} />
            ))}
          </ul>
        )}
      </Listing>
    </section>
  );
}
