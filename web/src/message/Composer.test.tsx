import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { sampleAgent, sampleRun, sampleStep } from "../api/samples";
import type { AgentStatus } from "../api/types";
import { Composer } from "./Composer";

afterEach(() => {
  cleanup();
  sessionStorage.clear();
});

function show(over: Partial<AgentStatus> = {}, isOpenHere = over.open_run !== undefined, thread = "cli") {
  const onSend = vi.fn();
  render(
    <QueryClientProvider client={new QueryClient()}>
      <Composer agent={sampleAgent(over)} thread={thread} isOpenHere={isOpenHere} onSend={onSend} />
    </QueryClientProvider>,
  );
  return { onSend, box: screen.getByLabelText<HTMLTextAreaElement>("Message to main") };
}

function write(text: string, press: Partial<KeyboardEventInit> = {}, over: Partial<AgentStatus> = {}) {
  const { onSend, box } = show(over);
  fireEvent.change(box, { target: { value: text } });
  fireEvent.keyDown(box, { key: "Enter", ...press });
  return { onSend, box };
}

const pasting = (text: string, files: File[] = []) => ({ clipboardData: { files, getData: () => text } });
const press = (name: string) => fireEvent.click(screen.getByRole("button", { name }));
const png = new File([new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])], "map.png");

it("sends on Enter and clears the box", () => {
  const { onSend, box } = write("  hello ");
  expect(onSend).toHaveBeenCalledExactlyOnceWith({ text: "hello" });
  expect(box.value).toBe("");
});

it("keeps the text on Shift and Enter", () => {
  const { onSend, box } = write("hello", { shiftKey: true });
  expect(onSend).not.toHaveBeenCalled();
  expect(box.value).toBe("hello");
});

it("does not send while an input method composes a word", () => {
  expect(write("こん", { isComposing: true }).onSend).not.toHaveBeenCalled();
});

it("keeps the unsent text of each conversation until it is sent", () => {
  fireEvent.change(show().box, { target: { value: "half a thou" } });
  cleanup();
  expect(show({}, false, "plans").box.value).toBe("");
  cleanup();
  const { box } = show();
  expect(box.value).toBe("half a thou");
  fireEvent.keyDown(box, { key: "Enter" });
  cleanup();
  expect(show().box.value).toBe("");
});

it("does not send an empty message", () => {
  expect(write("   ").onSend).not.toHaveBeenCalled();
});

it("queues on Enter while a run is open, and sends now on request", () => {
  const { onSend, box } = write("later", {}, { open_run: "r", activity: "working" });
  fireEvent.change(box, { target: { value: "stop that" } });
  press("Send now");
  fireEvent.change(box, { target: { value: "and that" } });
  fireEvent.keyDown(box, { key: "Enter", ctrlKey: true });
  expect(onSend.mock.calls).toEqual([
    [{ text: "later" }],
    [{ text: "stop that", priority: "interject" }],
    [{ text: "and that", priority: "interject" }],
  ]);
  expect(screen.getByRole("button", { name: "Queue" })).toBeTruthy();
});

it("queues every message while the open run belongs to another conversation", () => {
  const { onSend, box } = show({ open_run: "r", activity: "working" }, false);
  expect(screen.queryByRole("button", { name: "Send now" })).toBeNull();
  expect(screen.queryByRole("button", { name: "Stop" })).toBeNull();
  fireEvent.change(box, { target: { value: "later" } });
  fireEvent.keyDown(box, { key: "Enter", ctrlKey: true });
  expect(onSend.mock.calls).toEqual([[{ text: "later" }]]);
  expect(screen.getByRole("button", { name: "Queue" })).toBeTruthy();
});

it("refuses a text that is too long, keeps the old one, and offers a file", async () => {
  const { onSend, box } = show();
  fireEvent.change(box, { target: { value: "look:" } });
  const long = "x".repeat(300_000);
  fireEvent.paste(box, pasting(long));
  expect(screen.getByRole("alert").textContent).toContain("The text is too long: it has 300 kB");
  expect(box.value).toBe("look:");
  press("Attach it as a text file");
  await screen.findByText("pasted.txt");
  press("Send");
  expect(onSend.mock.calls[0]?.[0]).toMatchObject({ text: "look:", attachments: [{ media_type: "text/plain" }] });
});

it("refuses a pasted text that is too long for a file", () => {
  const { box } = show();
  fireEvent.paste(box, pasting("x".repeat(10_000_000)));
  expect(screen.getByRole("alert").textContent).toContain("It is also too long for an attachment");
  expect(screen.queryByRole("button", { name: "Attach it as a text file" })).toBeNull();
});

it("does not send a text that was typed beyond the limit", () => {
  const { onSend, box } = write("ä".repeat(140_000));
  expect(onSend).not.toHaveBeenCalled();
  expect(screen.getByRole("alert")).toBeTruthy();
  expect(box.value).toHaveLength(140_000);
});

it("attaches pasted and dropped files, and removes them", async () => {
  const { onSend, box } = show();
  fireEvent.change(box, { target: { value: "look" } });
  fireEvent.paste(box, pasting("", [png]));
  await screen.findByText("map.png");
  fireEvent.drop(box.form as HTMLFormElement, { dataTransfer: { files: [new File(["a"], "a/b.txt")] } });
  await screen.findByText("a_b.txt");
  press("Remove map.png");
  press("Send");
  expect(onSend).toHaveBeenCalledExactlyOnceWith({
    text: "look",
    attachments: [{ name: "a_b.txt", media_type: "text/plain", data: "YQ==" }],
  });
});

it.each([
  ["stops at once while the model answers", "ok", false],
  ["asks first while a command is in progress", "intended", true],
] as const)("%s", async (_, status, isAsked) => {
  const posted: string[] = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    if (request.method === "POST") posted.push(new URL(request.url).pathname);
    return Response.json(sampleRun({ outcome: "open", steps: [sampleStep("o", { kind: "tool", status })] }));
  });
  HTMLDialogElement.prototype.showModal ??= () => undefined;
  show({ open_run: "r", activity: "working" });
  press("Stop");
  if (isAsked) {
    await screen.findByText(/A command is in progress/);
    expect(posted).toEqual([]);
    fireEvent.click(screen.getByText("Stop run"));
  }
  await waitFor(() => expect(posted).toEqual(["/api/runs/r/cancel"]));
});
