import { expect, it } from "vitest";
import { diffLines } from "./diffLines";

it("tells names of files from changed lines", () => {
  const diff =
    "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\n--- old\n+++ new\ndiff --git a/y b/y\n--- a/y\n";
  expect(diffLines(diff).map((line) => line.kind)).toEqual([
    "file",
    "file",
    "file",
    "hunk",
    "context",
    "removed",
    "added",
    "file",
    "file",
  ]);
});
