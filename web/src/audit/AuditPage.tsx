import { useInfiniteQuery } from "@tanstack/react-query";
import { useDeferredValue } from "react";
import { listAudit } from "../api/calls";
import { keys } from "../api/keys";
import { useFeed } from "../briefing/feed";
import { labels } from "../labels";
import { replaceSearch, useSearch } from "../shell/router";
import { Listing } from "../ui/Listing";
import { AuditFilters } from "./AuditFilters";
import { AuditTable } from "./AuditTable";
import { type Filters, filtersOf, requestOf, searchOf } from "./filters";

/** What was decided about each tool call and each model request, newest first, with filters. */
export default function AuditPage() {
  useFeed();
  const search = useSearch();
  const filters = filtersOf(search);
  const asked = useDeferredValue(searchOf(filters));
  const list = useInfiniteQuery({
    queryKey: keys.audit(asked),
    queryFn: ({ pageParam }) => listAudit(requestOf(filtersOf(asked), Date.now()), pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor,
    placeholderData: (before) => before,
    staleTime: 0,
  });
  const change = (changed: Partial<Filters>) => replaceSearch(searchOf({ ...filters, ...changed }));
  const isAny = searchOf(filters) !== "";
  const { audit, common } = labels;
  return (
    <>
      <p className="lede">{audit.lede}</p>
      <AuditFilters filters={filters} onChange={change} />
      <Listing
        list={{ ...list, data: list.data?.pages.flatMap((page) => page.entries) }}
        action={audit.listAction}
        loading={audit.loading}
        icon={isAny ? "search" : "shield"}
        none={isAny ? audit.noneFound : audit.noneYet}
        noneHint={
          isAny ? (
            <button type="button" className="button" onClick={() => replaceSearch("")}>
              {audit.clearFilters}
            </button>
          ) : (
            audit.noneHint
          )
        }
      >
        {(entries) => <AuditTable entries={entries} isStale={list.isPlaceholderData} />}
      </Listing>
      {list.hasNextPage && (
        <button
          type="button"
          className="button runs-more"
          onClick={() => void list.fetchNextPage()}
          disabled={list.isFetchingNextPage}
        >
          {list.isFetchingNextPage ? common.fetching : common.showOlder}
        </button>
      )}
    </>
  );
}
