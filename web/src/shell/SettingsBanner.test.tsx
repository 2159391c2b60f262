import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { keys } from "../api/keys";
import { SettingsBanner } from "./SettingsBanner";

afterEach(() => {
  cleanup();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const message = "/home/config.toml, line 3: agent.ask_tools: expected a list";
const problem = { code: "config_invalid", message, line: 3, hint: "correct it, or run `wakeful doctor`" };

function shown(status: object) {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY } } });
  client.setQueryData(keys.runtime(), status);
  render(
    <QueryClientProvider client={client}>
      <SettingsBanner />
    </QueryClientProvider>,
  );
}

test("an invalid settings file is announced with its line and the next step", () => {
  shown({ settings_problem: problem });
  expect(screen.getByRole("alert").textContent).toContain(
    `/home/config.toml, line 3: agent.ask_tools: expected a list. Correct it, or run wakeful doctor.`,
  );
  expect(screen.getByText("wakeful doctor").tagName).toBe("CODE");
});

test("an invalid policy file is not taken for the settings file", () => {
  shown({ settings_problem: { code: "policy_invalid", message: "a.cedar, line 2: x", hint: "check it" } });
  const shownText = screen.getByRole("alert").textContent;
  expect(shownText).toBe("A policy file is invalid. a.cedar, line 2: x. Check it.");
});

test("settings that need a restart are named", () => {
  shown({ needs_restart: ["server.port", "log.level"] });
  expect(screen.getByRole("status").textContent).toContain("server.port, log.level");
});

test("an open page notices that the settings file breaks and is repaired", async () => {
  vi.useFakeTimers();
  let status: object = {};
  vi.stubGlobal("fetch", async () => Response.json(status));
  shown({});
  status = { settings_problem: problem };
  await act(() => vi.advanceTimersByTimeAsync(16_000));
  expect(screen.queryByRole("alert")).not.toBeNull();
  status = {};
  await act(() => vi.advanceTimersByTimeAsync(16_000));
  expect(screen.queryByRole("alert")).toBeNull();
});
