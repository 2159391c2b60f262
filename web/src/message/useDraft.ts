// The message that is being written: its text, its files, and what is wrong with them.
import { useEffect, useState } from "react";
import type { AttachmentInput } from "../api/types";
import { labels } from "../labels";
import { formatBytes } from "../text/number";
import { addFiles, FILE_BYTES_MAX } from "./attachment";

/** The server's limit of a text, in bytes. */
export const TEXT_BYTES_MAX = 256 * 1024;

export interface DraftProblem {
  message: string;
  /** A text that is too long to be sent, but not to be attached. */
  attachable?: string;
}

/** The length in bytes of UTF-8. */
export function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** Why a text cannot be sent; undefined when it can. */
export function textProblem(text: string): DraftProblem | undefined {
  // A character has at most three bytes for each of its units, so a short text need not be encoded.
  if (text.length * 3 <= TEXT_BYTES_MAX) return undefined;
  const bytes = byteLength(text);
  if (bytes <= TEXT_BYTES_MAX) return undefined;
  const { tooLong, tooLongAttach, tooLongToAttach } = labels.message;
  const message = tooLong(formatBytes(bytes), formatBytes(TEXT_BYTES_MAX));
  return bytes <= FILE_BYTES_MAX
    ? { message: `${message} ${tooLongAttach}`, attachable: text }
    : { message: `${message} ${tooLongToAttach(formatBytes(FILE_BYTES_MAX))}` };
}

/** `place` names the agent and the conversation: its unsent text stays in the tab while the reader looks elsewhere. */
const storageKey = (place: string) => `wakeful.message.${place}`;

function storedText(place: string): string {
  try {
    return sessionStorage.getItem(storageKey(place)) ?? "";
  } catch {
    return "";
  }
}

function storeText(place: string, text: string): void {
  try {
    if (text === "") sessionStorage.removeItem(storageKey(place));
    else sessionStorage.setItem(storageKey(place), text);
  } catch {
    // The storage is full. The text stays on the page, and only leaving the page would lose it.
  }
}

/** The draft of a conversation. The parent mounts it anew for another one. */
export function useDraft(place: string) {
  const [text, setText] = useState(() => storedText(place));
  useEffect(() => storeText(place, text), [place, text]);
  const [attachments, setAttachments] = useState<readonly AttachmentInput[]>([]);
  const [problem, setProblem] = useState<DraftProblem>();
  const add = async (files: readonly File[]) => {
    const added = await addFiles(attachments, files);
    setAttachments(added.attachments);
    setProblem(added.refused.length === 0 ? undefined : { message: added.refused.join(" ") });
  };
  return {
    text,
    attachments,
    problem,
    write: (next: string) => {
      setText(next);
      setProblem(undefined);
    },
    add,
    remove: (index: number) => setAttachments(attachments.filter((_, other) => other !== index)),
    refuse: setProblem,
    /** Attaches a text that is too long to be sent. */
    attachText: async (long: string) => {
      if (long === text) setText("");
      await add([new File([long], labels.message.pastedFile)]);
    },
    clear: () => {
      setText("");
      setAttachments([]);
      setProblem(undefined);
    },
  };
}
