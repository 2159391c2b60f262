import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import type { Login } from "../api/types";
import { Logins } from "./Logins";

afterEach(cleanup);

const login = (id: string, name: string, isCurrent: boolean): Login => ({
  id,
  name,
  created_at: "2026-01-01T00:00:00Z",
  last_used_at: "2026-01-02T00:00:00Z",
  expires_at: "2026-01-31T00:00:00Z",
  is_current: isCurrent,
});

it("lists the logins, marks this browser, and revokes another", async () => {
  let logins = [login("00000001", "Chrome on Linux", true), login("00000002", "Firefox on Linux", false)];
  const asked: string[] = [];
  vi.stubGlobal("fetch", async ({ method, url }: Request) => {
    asked.push(`${method} ${new URL(url).pathname}`);
    if (method === "GET") return Response.json({ logins });
    logins = logins.slice(0, 1);
    return new Response(null, { status: 204 });
  });
  const onLogout = vi.fn();
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  render(
    <QueryClientProvider client={client}>
      <Logins onClose={() => undefined} onLogout={onLogout} />
    </QueryClientProvider>,
  );
  const mine = await screen.findByRole("button", { name: "Revoke Chrome on Linux 00000001", hidden: true });
  expect(mine.closest("li")?.textContent).toContain("this browser");
  const other = screen.getByRole("button", { name: "Revoke Firefox on Linux 00000002", hidden: true });
  expect(other.closest("li")?.textContent).not.toContain("this browser");
  fireEvent.click(other);
  await waitFor(() => expect(screen.queryByText("Firefox on Linux")).toBeNull());
  expect(asked).toEqual(["GET /api/logins", "DELETE /api/logins/00000002", "GET /api/logins"]);
  fireEvent.click(mine);
  expect(onLogout).toHaveBeenCalledOnce();
});
