// Files that are sent with a message. They are checked by the rules of the server before anything is sent, so that the
// reader learns of a wrong file while it can still be replaced.
import type { AttachmentInput } from "../api/types";
import { labels } from "../labels";
import { formatBytes } from "../text/number";

/** The server's limits. */
const FILES_MAX = 8;
export const FILE_BYTES_MAX = 5 * 1024 * 1024;
const FILES_BYTES_MAX = 20 * 1024 * 1024;
const NAME_CHARS_MAX = 80;

export interface AddedFiles {
  attachments: readonly AttachmentInput[];
  /** Why files were not added, one sentence each. */
  refused: readonly string[];
}

/** Adds files to a message, as far as the limits allow. */
export async function addFiles(before: readonly AttachmentInput[], files: readonly File[]): Promise<AddedFiles> {
  const attachments = [...before];
  const refused: string[] = [];
  for (const file of files) {
    const name = fileName(file.name);
    const total = attachments.reduce((sum, one) => sum + bytesOf(one), 0);
    if (attachments.length >= FILES_MAX) refused.push(labels.message.tooManyFiles(FILES_MAX));
    else if (file.size > FILE_BYTES_MAX) refused.push(labels.message.fileTooLarge(name, formatBytes(FILE_BYTES_MAX)));
    else if (total + file.size > FILES_BYTES_MAX)
      refused.push(labels.message.filesTooLarge(name, formatBytes(FILES_BYTES_MAX)));
    else {
      const bytes = new Uint8Array(await file.arrayBuffer());
      const mediaType = mediaTypeOf(bytes);
      if (mediaType) attachments.push({ name, media_type: mediaType, data: toBase64(bytes) });
      else refused.push(labels.message.fileKind(name));
    }
  }
  return { attachments, refused: [...new Set(refused)] };
}

/** A file name without folders and control characters. */
function fileName(name: string): string {
  const plain = name.replaceAll(/[/\p{Cc}]/gu, "_").trim();
  // The end is kept, because it tells the kind of the file.
  return plain === "" ? labels.message.file : plain.slice(-NAME_CHARS_MAX);
}

/** The size of a file before base64. */
export function bytesOf({ data }: AttachmentInput): number {
  const padding = data.endsWith("==") ? 2 : data.endsWith("=") ? 1 : 0;
  return (data.length / 4) * 3 - padding;
}

/** The first bytes of each kind of file; undefined stands for any byte. */
const SIGNATURES: readonly [string, readonly (number | undefined)[]][] = [
  ["image/png", [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]],
  ["image/jpeg", [0xff, 0xd8, 0xff]],
  ["image/gif", [0x47, 0x49, 0x46, 0x38, undefined, 0x61]],
  ["image/webp", [0x52, 0x49, 0x46, 0x46, undefined, undefined, undefined, undefined, 0x57, 0x45, 0x42, 0x50]],
  ["application/pdf", [0x25, 0x50, 0x44, 0x46, 0x2d]],
];

/** Control characters except tab, line and page breaks, and the escape of colors: text files have no others. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the escape is one of them
const NOT_TEXT = /(?![\t\n\r\f\u001b])\p{Cc}/u;

/** The media type by content and not by name, as the server detects it; undefined for other files. */
export function mediaTypeOf(bytes: Uint8Array): string | undefined {
  const known = SIGNATURES.find(([, signature]) =>
    signature.every((byte, index) => byte === undefined || byte === bytes[index]),
  );
  if (known) return known[0];
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return text === "" || NOT_TEXT.test(text) ? undefined : "text/plain";
  } catch {
    return undefined;
  }
}

/** The most arguments that a call may have in every browser. */
const CHUNK_BYTES = 0x8000;

function toBase64(bytes: Uint8Array): string {
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES)
    parts.push(String.fromCharCode(...bytes.subarray(at, at + CHUNK_BYTES)));
  return btoa(parts.join(""));
}
