import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { sourcesQuery } from "../api/queries";
import { labels } from "../labels";
import { Icon } from "../ui/Icon";
import { Listing } from "../ui/Listing";
import { AddSource } from "./AddSource";
import { SourceRow } from "./SourceRow";

/** The watched folders and Git repositories. */
export default function SourcesPage() {
  const list = useQuery(sourcesQuery);
  const [isAdding, setAdding] = useState(false);
  return (
    <>
      <div className="toolbar">
        <p className="lede">{labels.source.lede}</p>
        <button type="button" className="button primary" onClick={() => setAdding(true)}>
          <Icon name="plus" /> {labels.source.add}
        </button>
      </div>
      <Listing
        list={list}
        action={labels.source.listAction}
        loading={labels.source.loading}
        icon="folder"
        none={labels.source.none}
        noneHint={labels.source.noneHint}
      >
        {(entries) => (
          <ul className="entries">
            {entries.map((one) => (
              <SourceRow key={one.source_id} source={one} />
            ))}
          </ul>
        )}
      </Listing>
      {isAdding && <AddSource onClose={() => setAdding(false)} />}
    </>
  );
}
