import { expect, it } from "vitest";
import { createSubscriptionOf, EMPTY_SUBSCRIPTION, subscriptionErrors } from "./draft";

it("needs at least one token, and conditions of the form field=value", () => {
  expect(subscriptionErrors(EMPTY_SUBSCRIPTION)).toHaveProperty("any");
  expect(subscriptionErrors({ ...EMPTY_SUBSCRIPTION, all: "TASK" })).toEqual({});
  expect(subscriptionErrors({ ...EMPTY_SUBSCRIPTION, any: "TASK", where: "status" })).toHaveProperty("where");
  expect(subscriptionErrors({ ...EMPTY_SUBSCRIPTION, any: "TASK", cooldown: "ten" })).toHaveProperty("cooldown");
});

it("reads tokens and conditions as the command line does", () => {
  const draft = {
    ...EMPTY_SUBSCRIPTION,
    any: "TASK, NOTE",
    where: "status=open version=3",
    cooldown: "10",
    debounce: "2",
  };
  expect(createSubscriptionOf("coach", draft)).toEqual({
    agent_id: "coach",
    any: ["TASK", "NOTE"],
    all: [],
    predicate: {
      all: [
        { field: "status", op: "eq", value: "open" },
        { field: "version", op: "eq", value: 3 },
      ],
    },
    cooldown_ms: 600_000,
    debounce_ms: 2_000,
    message: "",
  });
});
