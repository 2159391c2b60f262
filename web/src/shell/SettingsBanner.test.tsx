import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { keys } from "../api/keys";
import { SettingsBanner } from "./SettingsBanner";

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
  const message = "/home/config.toml, line 3: agent.ask_tools: expected a list";
  shown({ settings_problem: { code: "config_invalid", message, line: 3, hint: "correct it" } });
  expect(screen.getByRole("alert").textContent).toContain(`${message}. correct it`);
});

test("settings that need a restart are named", () => {
  shown({ needs_restart: ["server.port", "log.level"] });
  expect(screen.getByRole("status").textContent).toContain("server.port, log.level");
});
