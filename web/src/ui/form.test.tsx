import { act, cleanup, renderHook } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import { Failure } from "../api/failure";
import { fieldErrors } from "./fieldErrors";
import { useDraft } from "./useDraft";

afterEach(() => {
  cleanup();
  sessionStorage.clear();
});

const saved = { name: "main", tools: ["a"] as readonly string[] };
const show = (values = saved) => renderHook(({ values }) => useDraft("test", values), { initialProps: { values } });

it("keeps a draft when the page is left, and only what differs from the saved values", () => {
  const first = show();
  act(() => first.result.current.change({ tools: ["a", "b"] }));
  first.unmount();
  const { result } = show({ name: "renamed elsewhere", tools: ["a"] });
  expect(result.current.values).toEqual({ name: "renamed elsewhere", tools: ["a", "b"] });
  expect(result.current.changes).toEqual({ tools: ["a", "b"] });
});

it("is unchanged after a change was undone or discarded", () => {
  const { result } = show();
  act(() => result.current.change({ name: "other" }));
  expect(result.current.isChanged).toBe(true);
  act(() => result.current.change({ name: "main" }));
  expect(result.current.isChanged).toBe(false);
  act(() => result.current.change({ name: "other" }));
  act(() => result.current.discard());
  expect(result.current.values).toEqual(saved);
  expect(sessionStorage.length).toBe(0);
});

it("ignores a stored draft of another shape", () => {
  sessionStorage.setItem("wakeful.draft.test", '{"gone":1');
  expect(show().result.current.values).toEqual(saved);
  sessionStorage.setItem("wakeful.draft.test", '{"gone":1}');
  expect(show().result.current.values).toEqual(saved);
});

const failure = (message: string, hint = "") => new Failure("invalid", message, hint, 400);
const names = { agent_id: "name", cron: "cron" } as const;

it("puts an error beside the field that it names", () => {
  expect(fieldErrors(failure("`agent_id` is taken", "choose another"), names).byField).toEqual({
    name: "`agent_id` is taken. Choose another.",
  });
  expect(fieldErrors(failure("`pattern.cron` has six fields"), names).byField).toHaveProperty("cron");
  expect(fieldErrors(failure("cron: unknown macro"), names).byField).toHaveProperty("cron");
});

it("shows an error that names no field of the form on its own", () => {
  const error = failure("the disk is full");
  expect(fieldErrors(error, names)).toEqual({ byField: {}, other: error });
  expect(fieldErrors(null, names)).toEqual({ byField: {}, other: undefined });
});
