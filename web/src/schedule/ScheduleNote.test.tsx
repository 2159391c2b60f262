import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import { ScheduleNote } from "./ScheduleNote";

afterEach(cleanup);

it("the page says in its own words when a firing is skipped", () => {
  const note =
    "a firing is skipped as nothing_to_do if nothing in the journal changed since the agent's last run and no message " +
    "is queued; to fire each time, use `--always true` of `wakeful schedule edit`";
  render(<ScheduleNote note={note} />);
  expect(screen.getByRole("note").textContent?.trim()).toBe("Skipped when nothing changed. Edit to change this.");
});

it("another note is shown as it is", () => {
  render(<ScheduleNote note="the clock was set back" />);
  expect(screen.getByRole("note").textContent?.trim()).toBe("The clock was set back.");
});
