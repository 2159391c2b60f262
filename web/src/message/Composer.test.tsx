import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { sampleAgent } from "../api/samples";
import { Composer } from "./Composer";

afterEach(cleanup);

function write(text: string, press: { shiftKey?: boolean; isComposing?: boolean } = {}) {
  const onSend = vi.fn();
  render(<Composer agent={sampleAgent()} onSend={onSend} />);
  const box = screen.getByLabelText<HTMLTextAreaElement>("Message to main");
  fireEvent.change(box, { target: { value: text } });
  fireEvent.keyDown(box, { key: "Enter", ...press });
  return { onSend, box };
}

it("sends on Enter and clears the box", () => {
  const { onSend, box } = write("  hello ");
  expect(onSend).toHaveBeenCalledExactlyOnceWith("hello");
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

it("does not send an empty message", () => {
  expect(write("   ").onSend).not.toHaveBeenCalled();
});
