import { useInfiniteQuery } from "@tanstack/react-query";
import { useDeferredValue } from "react";
import { listRuns } from "../api/calls";
import { keys } from "../api/keys";
import { useFeed } from "../briefing/feed";
import { labels } from "../labels";
import { replaceSearch, useSearch } from "../shell/router";
import { Listing } from "../ui/Listing";
import { type Filters, filtersOf, isFiltered, requestOf, searchOf } from "./filters";
import { RunFilters } from "./RunFilters";
import { RunTable } from "./RunTable";

/** The runs of all agents, newest first, with search and filters. */
export default function RunsPage() {
  useFeed();
  const search = useSearch();
  const filters = filtersOf(search);
  // Typing is not delayed by the list.
  const asked = useDeferredValue(searchOf(filters));
  const list = useInfiniteQuery({
    queryKey: keys.runList(asked),
    queryFn: ({ pageParam }) => listRuns(requestOf(filtersOf(asked), Date.now()), pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_before,
    // The rows on the screen stay while a filter is applied.
    placeholderData: (before) => before,
  });
  const change = (changed: Partial<Filters>) => replaceSearch(searchOf({ ...filters, ...changed }));
  const isAny = isFiltered(filters);
  return (
    <>
      <RunFilters filters={filters} counts={list.data?.pages[0]?.counts} onChange={change} />
      <Listing
        list={{ ...list, data: list.data?.pages.flatMap((page) => page.runs) }}
        action={labels.run.allAction}
        loading={labels.run.allLoading}
        icon={isAny ? "search" : "queue"}
        none={isAny ? labels.run.noneFound : labels.run.noneYet}
        noneHint={
          isAny ? (
            <button type="button" className="button" onClick={() => replaceSearch("")}>
              {labels.run.clearFilters}
            </button>
          ) : (
            labels.run.noneHint
          )
        }
      >
        {(runs) => <RunTable runs={runs} isStale={list.isPlaceholderData} />}
      </Listing>
      {list.hasNextPage && (
        <button
          type="button"
          className="button runs-more"
          onClick={() => void list.fetchNextPage()}
          disabled={list.isFetchingNextPage}
        >
          {list.isFetchingNextPage ? labels.common.fetching : labels.common.showOlder}
        </button>
      )}
    </>
  );
}
