import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import { threadOfSearch } from "../transcript/thread";
import { ClockContext } from "../ui/clock";
import { instantClock } from "../ui/clockSamples";
import { NextSteps } from "./NextSteps";

afterEach(cleanup);

it("begins a new conversation when this one is too long", () => {
  render(
    <ClockContext value={instantClock}>
      <QueryClientProvider client={new QueryClient()}>
        <NextSteps agentId="main" runKey="r" steps={["new_conversation"]} />
      </QueryClientProvider>
    </ClockContext>,
  );
  fireEvent.click(screen.getByRole("button", { name: "New conversation" }));
  expect(location.pathname).toBe("/agents/main");
  expect(threadOfSearch(location.search)).toMatch(/^chat-/);
});
