import { expect, it } from "vitest";
import { addFiles, bytesOf, mediaTypeOf } from "./attachment";

const bytes = (...values: (number | string)[]) =>
  Uint8Array.from(values.flatMap((value) => (typeof value === "number" ? [value] : [...Buffer.from(value)])));
const big = (name: string, size: number) => new File(["x".repeat(size)], name);

it.each([
  ["image/png", bytes(0x89, "PNG\r\n", 0x1a, "\n...")],
  ["image/jpeg", bytes(0xff, 0xd8, 0xff, 0xe0)],
  ["image/gif", bytes("GIF89a")],
  ["image/webp", bytes("RIFF....WEBPVP8 ")],
  ["application/pdf", bytes("%PDF-1.7")],
  ["text/plain", bytes("näh\r\n\t")],
  [undefined, bytes("a", 0, "b")],
  [undefined, bytes(0xc3, 0x28)],
  [undefined, bytes()],
])("detects %s by content", (mediaType, content) => {
  expect(mediaTypeOf(content)).toBe(mediaType);
});

it("encodes files of every length", async () => {
  for (const size of [1, 2, 3, 100_000]) {
    const { attachments } = await addFiles([], [big("a.txt", size)]);
    expect(atob(attachments[0]?.data ?? "")).toBe("x".repeat(size));
    expect(bytesOf(attachments[0]!)).toBe(size);
  }
});

it("refuses what the server would refuse, and keeps the rest", async () => {
  const { attachments, refused } = await addFiles(
    [],
    [big("a.txt", 5), big("b.txt", 5 * 1024 * 1024 + 1), new File([bytes(0)], "c.bin"), new File([], "../d")],
  );
  expect(attachments.map((one) => one.name)).toEqual(["a.txt"]);
  expect(refused).toEqual([
    "b.txt was not attached: a file may have at most 5.2 MB.",
    "c.bin was not attached: it is not PNG, JPEG, GIF, WebP, PDF or plain text.",
    ".._d was not attached: it is not PNG, JPEG, GIF, WebP, PDF or plain text.",
  ]);
});

it("limits the number and the total size of files", async () => {
  const many = await addFiles(
    [],
    Array.from({ length: 10 }, (_, index) => big(`${index}.txt`, 1)),
  );
  expect(many.attachments).toHaveLength(8);
  expect(many.refused).toEqual(["A message may have at most 8 files."]);
  const large = Array.from({ length: 5 }, (_, index) => big(`${index}.txt`, 5 * 1024 * 1024 - 1));
  const together = await addFiles([], [...large.slice(0, 4), big("last.txt", 5)]);
  expect(together.attachments).toHaveLength(4);
  expect(together.refused).toEqual(["last.txt was not attached: all files together may have at most 21 MB."]);
});
