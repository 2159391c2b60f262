import { beforeEach, expect, it } from "vitest";
import { accept, discard, dropShown, fail, retry, storedOutbox, storeOutbox, write } from "./outbox";

const NOW = new Date("2026-01-01T00:00:00Z");
const problem = { message: "no response", hint: "try again" };

beforeEach(() => sessionStorage.clear());

it("keeps a message's key over failure and retry", () => {
  const failed = fail(write([], "hello", "k1", NOW), "k1", problem);
  expect(failed).toMatchObject([{ key: "k1", state: "failed", problem }]);
  expect(retry(failed, "k1")).toEqual([
    { key: "k1", text: "hello", at: NOW.toISOString(), state: "sending", problem: undefined },
  ]);
});

it("drops an accepted message when the server lists its run", () => {
  const accepted = accept(write([], "hello", "k1", NOW), "k1", "run-1");
  expect(dropShown(accepted, new Set(["run-0"]))).toBe(accepted);
  expect(dropShown(accepted, new Set(["run-1"]))).toEqual([]);
});

it("changes only the message with the given key", () => {
  const two = write(write([], "one", "k1", NOW), "two", "k2", NOW);
  expect(fail(two, "k2", problem).map((message) => message.state)).toEqual(["sending", "failed"]);
  expect(discard(two, "k1").map((message) => message.key)).toEqual(["k2"]);
});

it("restores unconfirmed messages under their keys", () => {
  const outbox = accept(write(write([], "one", "k1", NOW), "two", "k2", NOW), "k2", "run-2");
  storeOutbox("main", outbox);
  expect(storedOutbox("main")).toMatchObject([{ key: "k1", text: "one", state: "failed" }]);
  expect(storedOutbox("other")).toEqual([]);
});
