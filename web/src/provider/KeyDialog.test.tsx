import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { KeyDialog } from "./KeyDialog";

afterEach(cleanup);

it("hides the key, clears it when it is sent, and shows a refusal", async () => {
  const bodies: unknown[] = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    bodies.push(await request.json());
    return Response.json({ error: { code: "key_refused", message: "the key is refused", hint: "" } }, { status: 409 });
  });
  const onClose = vi.fn();
  render(
    <QueryClientProvider client={new QueryClient()}>
      <KeyDialog provider={{ name: "openai" } as never} onClose={onClose} onStored={async () => undefined} />
    </QueryClientProvider>,
  );
  const key = screen.getByLabelText("Key") as HTMLInputElement;
  expect(key.type).toBe("password");
  fireEvent.change(key, { target: { value: " secret " } });
  fireEvent.click(screen.getByRole("button", { name: "Store key" }));
  expect(key.value).toBe("");
  await waitFor(() => expect(screen.getByText("The key is refused.")).toBeTruthy());
  expect(bodies).toEqual([{ key: "secret", skip_test: false }]);
  expect(onClose).not.toHaveBeenCalled();
});
