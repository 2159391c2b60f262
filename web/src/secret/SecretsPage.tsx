import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { secretsQuery } from "../api/queries";
import { labels } from "../labels";
import { Icon } from "../ui/Icon";
import { Listing } from "../ui/Listing";
import { SecretDialog } from "./SecretDialog";
import { SecretRow } from "./SecretRow";

/** The secrets that commands of agents receive by name, without their values. */
export default function SecretsPage() {
  const list = useQuery(secretsQuery);
  const [isAdding, setAdding] = useState(false);
  const names = list.data?.map((one) => one.name) ?? [];
  return (
    <>
      <div className="toolbar">
        <p className="lede">{labels.secret.lede}</p>
        <button type="button" className="button primary" onClick={() => setAdding(true)}>
          <Icon name="plus" /> {labels.secret.add}
        </button>
      </div>
      <Listing
        list={list}
        action={labels.secret.listAction}
        loading={labels.secret.loading}
        icon="shield"
        none={labels.secret.none}
        noneHint={labels.secret.noneHint}
      >
        {(entries) => (
          <ul className="entries">
            {entries.map((one) => (
              <SecretRow key={one.name} secret={one} names={names} />
            ))}
          </ul>
        )}
      </Listing>
      {isAdding && <SecretDialog names={names} onClose={() => setAdding(false)} />}
    </>
  );
}
