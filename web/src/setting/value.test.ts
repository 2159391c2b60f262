import { expect, it } from "vitest";
import type { Setting } from "../api/types";
import { matching, typedValue, valueText } from "./value";

it("sends a value of the kind that the setting has", () => {
  expect(typedValue(" 8080 ", 7717)).toBe(8080);
  expect(typedValue("3.25", "5.00")).toBe("3.25");
  expect(typedValue("false", true)).toBe(false);
  expect(typedValue("a, b,", ["c"])).toEqual(["a", "b"]);
  expect(typedValue("openai/large", undefined)).toBe("openai/large");
  expect(typedValue("a lot", 5)).toBe("a lot");
});

it("shows a list as it is typed", () => {
  expect(typedValue(valueText(["a", "b"]), ["a", "b"])).toEqual(["a", "b"]);
  expect(valueText(undefined)).toBe("");
});

it("finds settings by every word of the search", () => {
  const setting = (name: string, description: string): Setting => ({
    name,
    description,
    value: 1,
    origin: "default",
    needs_restart: false,
  });
  const all = [setting("server.port", "the port of the daemon"), setting("budget.daily_usd", "the daily cap")];
  expect(matching(all, "the cap").map((one) => one.name)).toEqual(["budget.daily_usd"]);
  expect(matching(all, "PORT").map((one) => one.name)).toEqual(["server.port"]);
  expect(matching(all, "")).toHaveLength(2);
});
