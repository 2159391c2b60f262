import { useMemo } from "react";
import { tokenizeCode } from "../text/code";
import { visibleText } from "../text/visible";
import { CopyButton } from "./CopyButton";

/** Code with colors, and a button that copies it as it was written. */
export function CodeBlock({ text, language }: { text: string; language: string }) {
  const tokens = useMemo(() => tokenizeCode(visibleText(text), language), [text, language]);
  return (
    <div className="code-block">
      <pre className="code" tabIndex={0}>
        {tokens.map((token, index) =>
          token.kind ? (
            <span key={index} className={`code-${token.kind}`}>
              {token.text}
            </span>
          ) : (
            token.text
          ),
        )}
      </pre>
      <CopyButton text={text} />
    </div>
  );
}
