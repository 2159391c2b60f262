import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import { CheckList } from "./CheckList";

afterEach(cleanup);

const list = (values: readonly string[], error?: string) => {
  const options = ["ReadFile", "WriteFile", "WebFetch"].map((name) => [name, name] as const);
  const summary = (count: number) => `${count} of them ask`;
  render(
    <CheckList label="Ask" options={options} values={values} onValues={() => {}} summary={summary} error={error} />,
  );
  const details = screen.getByText(/of them ask/).closest("details") as HTMLDetailsElement;
  const shown = `${details.querySelector("summary")?.textContent}, ${details.open ? "open" : "closed"}`;
  cleanup();
  return shown;
};

it("a long list is closed behind the number of chosen values, and open with an error", () => {
  expect([list([]), list(["ReadFile", "WebFetch"]), list([], "unknown tool")]).toEqual([
    "0 of them ask, closed",
    "2 of them ask, closed",
    "0 of them ask, open",
  ]);
});
