import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { sampleRun, sampleStep } from "../api/samples";
import { faultText, lastActionText } from "./fault";
import { QuarantineCard } from "./QuarantineCard";

afterEach(cleanup);

const KEY = "a".repeat(64);
const fault = (code: string, why: string) => JSON.stringify({ code, why });
const broken = fault("run_state_invalid", `run ${KEY} cannot go on: a transcript entry is missing`);

it("says what is wrong with a run that cannot be read", () => {
  expect(faultText(broken)).toEqual({
    reason: "Wakeful cannot read the stored state of this run: a transcript entry is missing.",
    nextStep: "Resume the run after you restore the missing data, or abandon it.",
  });
});

it("counts the claims of a run that makes no progress", () => {
  expect(faultText(fault("crash_loop", `run ${KEY} was taken up 11 times and never moved`))).toEqual({
    reason: "Wakeful tried to continue this run 11 times without progress.",
    nextStep: "Run `wakeful doctor` to find the cause, then resume or abandon the run.",
  });
});

it("names the version that a run needs", () => {
  const why = `run ${KEY} needs machine tool_loop version 3, which this program does not have`;
  expect(faultText(fault("machine_version_unsupported", why))).toEqual({
    reason: "This run needs tool_loop version 3, which this version of Wakeful does not support.",
    nextStep: "Resume the run with the version of Wakeful that started it, or abandon it.",
  });
});

it("shows a fault of an unknown kind as a sentence", () => {
  const nextStep = "Resume the run to try again, or abandon it.";
  expect(faultText(fault("moon_phase", `run ${KEY} waits for the moon`))).toEqual({
    reason: "The run waits for the moon.",
    nextStep,
  });
  expect(faultText('{"code":"moon_phase"}')).toEqual({ reason: "This run cannot continue (moon phase).", nextStep });
  expect(faultText("its state cannot be read")).toEqual({ reason: "Its state cannot be read.", nextStep });
  expect(faultText(undefined)).toEqual({ reason: "This run cannot continue.", nextStep });
});

it("names the last action and its status", () => {
  const call = sampleStep("2", { kind: "tool", name: "ExecCommand", status: "outcome_unknown" });
  expect(lastActionText([sampleStep("1"), call])).toBe("Last action: ExecCommand (outcome unknown).");
  expect(lastActionText([call, sampleStep("3", { status: "intended" })])).toBe(
    "Last action: model request to openai/large (in progress).",
  );
  expect(lastActionText([])).toBe("No action has started.");
});

it("shows a quarantined run's fault in words, never as JSON", async () => {
  const steps = [sampleStep("1", { kind: "tool", name: "ExecCommand", status: "ok" })];
  vi.stubGlobal("fetch", async () => Response.json(sampleRun({ run_key: KEY, outcome: "quarantined", steps })));
  render(
    <QueryClientProvider client={new QueryClient()}>
      <QuarantineCard agentId="main" runKey={KEY} fault={broken} isLinked />
    </QueryClientProvider>,
  );
  await screen.findByText("Last action: ExecCommand (ok).");
  const shown = screen.getByRole("article").textContent;
  expect(shown).toContain("Wakeful cannot read the stored state of this run: a transcript entry is missing.");
  expect(shown).toContain("Resume the run after you restore the missing data, or abandon it.");
  expect(shown).not.toMatch(/[{}]|run_state_invalid|aaaa/);
});
