import { cleanup, render } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import { ModelText } from "./ModelText";

afterEach(cleanup);

const ELEMENTS = new Set(
  "a blockquote br button code del div em hr input li ol p path pre span strong svg table tbody td th thead tr ul".split(
    " ",
  ),
);
const ATTRIBUTES = new Set(
  "aria-hidden aria-label checked class d disabled focusable href rel role scope start tabindex target title type viewbox".split(
    " ",
  ),
);

/** What a text of other people must never become: another element, a handler, or a link to another scheme. */
function unsafeParts(root: Element): string[] {
  return [...root.querySelectorAll("*")].flatMap((element) => {
    const name = element.tagName.toLowerCase();
    const found = ELEMENTS.has(name) ? [] : [name];
    for (const { name: attribute, value } of element.attributes) {
      if (!ATTRIBUTES.has(attribute.toLowerCase())) found.push(`${name} ${attribute}`);
      if (attribute === "href" && !/^(https?:\/\/[^@]+$|mailto:)/.test(value)) found.push(`${name} ${value}`);
    }
    const isBare = name === "a" && element.getAttribute("rel") !== "noopener noreferrer nofollow";
    return isBare ? [...found, "a without rel"] : found;
  });
}

const HOSTILE = [
  "<script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  "<a href='javascript:alert(1)'>x</a>",
  "[x](javascript:alert(1))",
  "[x](JAVASCRIPT:alert(1))",
  "[x](java\nscript:alert(1))",
  "[x](data:text/html;base64,PHNjcmlwdD4=)",
  "[x](<javascript:alert(1)>)",
  "![x](javascript:alert(1))",
  "![x](https://evil.example/pixel.png)",
  "<javascript:alert(1)>",
  '[x](https://e.org "onmouseover=alert(1)")',
  "[x](https://good.example@evil.example)",
  "[a]: javascript:alert(1)\n\n[a]",
  "`<b>`",
  "```<script>\n</script>\n```",
  "| <b> | [x](javascript:1) |\n|---|---|\n| <i> | x |",
  "- [x] <input onfocus=alert(1)>",
  "> <iframe src=//evil.example>",
  "\u001b]8;;javascript:alert(1)\u0007x\u001b]8;;\u0007",
  "\u202ehttps://evil.example",
  "# <style>*{display:none}</style>",
  "&lt;script&gt; &#x6a;avascript:",
];

it.each(HOSTILE)("renders %j without unsafe elements", (text) => {
  const { container } = render(<ModelText text={text} />);
  expect(unsafeParts(container)).toEqual([]);
});

it("does not load images", () => {
  const { container } = render(<ModelText text="![x](https://evil.example/pixel.png)" />);
  expect(container.querySelector("img")).toBeNull();
  expect(container.querySelector("a")?.textContent).toBe("x");
});

it("shows the target of a link whose text names another place", () => {
  const { container } = render(<ModelText text="[https://bank.com](https://evil.example/x) [docs](https://docs.rs)" />);
  expect(container.textContent).toBe("https://bank.com (evil.example) docs");
  expect(container.querySelector("a")?.getAttribute("target")).toBe("_blank");
});

it("renders random text without unsafe elements", () => {
  const pieces = [
    ...HOSTILE,
    ..."*_`[]()<>!#-+|~\\\n\t :/.&;'\"01xX".split(""),
    ..."** ~~ ``` ]( \n\n \n- \n1. \n> \n| |-| <br> <a: https:// javascript: data: mailto: @ on= \u202e \u001b[ é 😀".split(
      " ",
    ),
  ];
  // A fixed sequence, so that a failure can be repeated.
  let seed = 7;
  const next = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed % below;
  };
  for (let round = 0; round < 100; round += 1) {
    const text = Array.from({ length: 1 + next(24) }, () => pieces[next(pieces.length)]).join("");
    const { container, unmount } = render(<ModelText text={text} />);
    expect(unsafeParts(container), JSON.stringify(text)).toEqual([]);
    unmount();
  }
});
