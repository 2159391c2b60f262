import { useQuery } from "@tanstack/react-query";
import { localProvidersQuery, providersQuery } from "../api/queries";
import type { ModelProvider } from "../api/types";
import { labels } from "../labels";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Icon } from "../ui/Icon";
import { Listing } from "../ui/Listing";
import { AddProvider } from "./AddProvider";
import { LocalProviders } from "./LocalProviders";
import { ProviderRow } from "./ProviderRow";

/** The model providers, with the state of the key of each. */
export default function ProvidersPage() {
  const list = useQuery(providersQuery);
  const local = useQuery(localProvidersQuery);
  return (
    <>
      <div className="toolbar">
        <p className="lede">{labels.provider.lede}</p>
        <button type="button" className="button" onClick={() => void local.refetch()} disabled={local.isFetching}>
          <Icon name="search" /> {local.isFetching ? labels.provider.finding : labels.provider.findLocal}
        </button>
        <AddProvider />
      </div>
      {local.error && <ErrorNotice action={labels.provider.findAction} error={local.error} />}
      {local.data && <LocalProviders found={local.data} />}
      <Listing
        list={{ ...list, data: list.data?.toSorted(byUse) }}
        action={labels.provider.listAction}
        loading={labels.provider.loading}
        icon="spark"
        none={labels.provider.none}
        noneHint={labels.provider.noneHint}
      >
        {(entries) => (
          <ul className="entries">
            {entries.map((one) => (
              <ProviderRow key={one.name} provider={one} />
            ))}
          </ul>
        )}
      </Listing>
    </>
  );
}

/** Providers that can be used first, then by name. */
function byUse(a: ModelProvider, b: ModelProvider): number {
  return Number(b.has_key) - Number(a.has_key) || a.name.localeCompare(b.name);
}
