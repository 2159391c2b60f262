import { beforeEach, expect, it } from "vitest";
import { clearSuspicion, connection, setConnection, suspectConnection } from "./connection";

beforeEach(() => setConnection("connecting"));

it("shows a failed request only while no stream is open", () => {
  setConnection("live");
  suspectConnection("unreachable");
  expect(connection()).toBe("live");
  setConnection("connecting");
  suspectConnection("unreachable");
  expect(connection()).toBe("unreachable");
});

it("a successful request ends what a failed one suspected", () => {
  suspectConnection("unreachable");
  clearSuspicion();
  expect(connection()).toBe("connecting");
});

it("a successful request does not change what a stream reports", () => {
  setConnection("unreachable");
  clearSuspicion();
  expect(connection()).toBe("unreachable");
});
