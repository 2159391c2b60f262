// The message that is being written: its text, its files, and what is wrong with them.
import { useState } from "react";
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

export function useDraft() {
  const [text, setText] = useState("");
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
