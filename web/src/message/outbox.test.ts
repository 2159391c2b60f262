import { beforeEach, expect, it, vi } from "vitest";
import { accept, discard, dropShown, fail, retry, storedOutbox, storeOutbox, write } from "./outbox";

const NOW = new Date("2026-01-01T00:00:00Z");
const problem = { message: "no response", hint: "try again" };
const refusal = { ...problem, status: 409 };
const file = { name: "a.txt", media_type: "text/plain", data: "YQ==" };

beforeEach(() => sessionStorage.clear());

it("keeps a message's key over failure and retry", () => {
  const failed = fail(write([], { text: "hello" }, "k1", NOW), "k1", refusal);
  expect(failed).toMatchObject([{ key: "k1", state: "failed", problem }]);
  expect(retry(failed, "k1")).toEqual([
    { key: "k1", text: "hello", at: NOW.toISOString(), state: "sending", problem: undefined },
  ]);
});

it("drops an accepted message when the server lists its run", () => {
  const accepted = accept(write([], { text: "hello" }, "k1", NOW), "k1", "run-1");
  expect(dropShown(accepted, new Set(["run-0"]))).toBe(accepted);
  expect(dropShown(accepted, new Set(["run-1"]))).toEqual([]);
});

it("changes only the message with the given key", () => {
  const two = write(write([], { text: "one" }, "k1", NOW), { text: "two" }, "k2", NOW);
  expect(fail(two, "k2", refusal).map((message) => message.state)).toEqual(["sending", "failed"]);
  expect(discard(two, "k1").map((message) => message.key)).toEqual(["k2"]);
});

it("restores unconfirmed messages under their keys", () => {
  const outbox = accept(write(write([], { text: "one" }, "k1", NOW), { text: "two" }, "k2", NOW), "k2", "run-2");
  storeOutbox("main", outbox);
  expect(storedOutbox("main")).toMatchObject([{ key: "k1", text: "one", state: "failed" }]);
  expect(storedOutbox("other")).toEqual([]);
});

it("waits for the connection when there was no response", () => {
  const outbox = fail(write([], { text: "hello" }, "k1", NOW), "k1", { ...problem, status: 0 });
  expect(outbox[0]?.state).toBe("waiting");
});

it("stores no files, and does not send a message without its files", () => {
  storeOutbox("main", write([], { text: "look", attachments: [file] }, "k1", NOW));
  expect(sessionStorage.getItem("wakeful.outbox.main")).not.toContain(file.data);
  expect(storedOutbox("main")).toMatchObject([{ state: "failed", isIncomplete: true }]);
});

it("a full storage does not break the page", () => {
  vi.spyOn(Storage.prototype, "setItem").mockImplementation(() => {
    throw new DOMException("full", "QuotaExceededError");
  });
  expect(() => storeOutbox("main", write([], { text: "hello" }, "k1", NOW))).not.toThrow();
});
