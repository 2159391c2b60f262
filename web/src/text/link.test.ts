import { expect, it } from "vitest";
import { isMisleading, type SafeLink, safeLink } from "./link";

it.each([
  "javascript:alert(1)",
  "JaVaScRiPt:alert(1)",
  "java\tscript:alert(1)",
  " javascript:alert(1)",
  "data:text/html,<script>1</script>",
  "vbscript:x",
  "file:///etc/passwd",
  "blob:https://example.org/1",
  "//evil.example",
  "/relative",
  "https://",
  "https:evil.example",
  "https://user@evil.example",
  "https://good.example:pw@evil.example/",
  "https://evil.example/\u202egpj.exe",
  "https://evil.example/a b",
  "https:\\\\evil.example",
  "mailto:",
  "mailto:a@b,c@d",
  `https://evil.example/${"a".repeat(3_000)}`,
])("does not link to %s", (address) => {
  expect(safeLink(address)).toBeUndefined();
});

it("links to the web and to mail addresses", () => {
  expect(safeLink("HTTPS://Example.org/a?b#c")).toEqual({ href: "https://example.org/a?b#c", target: "example.org" });
  expect(safeLink("http://127.0.0.1:7717/")).toEqual({ href: "http://127.0.0.1:7717/", target: "127.0.0.1:7717" });
  expect(safeLink("mailto:a@b.org")).toEqual({ href: "mailto:a@b.org", target: "a@b.org" });
});

it.each([
  ["docs", "https://example.org/", false],
  ["example.org/docs", "https://example.org/", false],
  ["https://example.org:8080/x", "https://example.org:8080/x", false],
  ["example.org", "https://www.example.org/", false],
  ["https://bank.com/login", "https://evil.example/", true],
  ["bank.com", "https://bank.com.evil.example/", true],
  ["bank\u2024com", "https://evil.example/", true],
  // Cyrillic letters that look Latin: the host of the link is in Punycode.
  ["https://аррӏе.com", "https://аррӏе.com", true],
  ["help@bank.com", "mailto:help@evil.example", true],
  ["a".repeat(400), "https://example.org/", true],
])("the text %j of a link to %s is misleading: %s", (text, address, misleading) => {
  expect(isMisleading(text, safeLink(address) as SafeLink)).toBe(misleading);
});
