/** What a line of a unified diff is. */
export type DiffLineKind = "added" | "removed" | "hunk" | "file" | "context";

export interface DiffLine {
  kind: DiffLineKind;
  text: string;
}

/** The lines of a unified diff. The names before the first hunk of a file are not mistaken for changed lines. */
export function diffLines(diff: string): DiffLine[] {
  let isInHunk = false;
  return diff
    .replace(/\n$/, "")
    .split("\n")
    .map((text) => {
      if (text.startsWith("diff --git ")) isInHunk = false;
      else if (text.startsWith("@@ ")) {
        isInHunk = true;
        return { kind: "hunk", text };
      }
      if (!isInHunk) return { kind: "file", text };
      if (text.startsWith("+")) return { kind: "added", text };
      if (text.startsWith("-")) return { kind: "removed", text };
      return { kind: "context", text };
    });
}
