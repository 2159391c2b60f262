import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { sampleModel, sampleRun } from "../api/samples";
import { RetryDialog } from "./RetryDialog";

const sent = vi.fn<(body: unknown) => void>();

beforeEach(() => {
  sent.mockReset();
  vi.stubGlobal("fetch", async (request: Request) => {
    if (request.method === "GET") return Response.json([sampleModel({ model_ref: "openai/large" })]);
    sent(await request.json());
    return Response.json({ run_key: "again" }, { status: 202 });
  });
});
afterEach(cleanup);

function show(stepId?: string): void {
  const cause = { text: "water the beds" } as never;
  render(
    <QueryClientProvider client={new QueryClient()}>
      <RetryDialog run={sampleRun({ cause })} stepId={stepId} onClose={() => undefined} />
    </QueryClientProvider>,
  );
}

it("suggests the models that can be chosen", async () => {
  show();
  await waitFor(() =>
    expect(screen.getByLabelText<HTMLInputElement>("Model").list?.options[0]?.value).toBe("openai/large"),
  );
});

const again = () => screen.getByRole("button", { name: "Run again" });

it("sends one request on a double click", async () => {
  show();
  fireEvent.click(again());
  fireEvent.click(again());
  await waitFor(() => expect(location.pathname).toBe("/agents/main/runs/again"));
  expect(sent.mock.calls).toEqual([[{}]]);
});

it("sends the text only when it was changed", async () => {
  show();
  fireEvent.change(screen.getByRole("textbox", { name: "Message" }), { target: { value: "water the trees" } });
  fireEvent.click(again());
  await waitFor(() => expect(sent.mock.calls).toEqual([[{ text: "water the trees" }]]));
});

it("runs again from a step with an added message", async () => {
  show("00ff");
  fireEvent.change(screen.getByRole("textbox", { name: "Message to add" }), { target: { value: "use less water" } });
  fireEvent.click(screen.getByRole("button", { name: "Run again from here" }));
  await waitFor(() => expect(sent.mock.calls).toEqual([[{ from_step: "00ff", message: "use less water" }]]));
});
