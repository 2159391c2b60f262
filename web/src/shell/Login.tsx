import { useEffect } from "react";
import { labels } from "../labels";
import { probeStream } from "../live/probe";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Icon } from "../ui/Icon";
import { loginFailure } from "./loginLink";
import { useTitle } from "./useTitle";

/** How to log in. There is no password: a login link comes from the command line of this machine. */
export function Login() {
  useTitle(labels.login.tabTitle);
  // The link opens another tab; back in this one, the page checks whether the browser is logged in now.
  useEffect(() => {
    const check = () => void probeStream();
    window.addEventListener("focus", check);
    return () => window.removeEventListener("focus", check);
  }, []);
  const failure = loginFailure();
  return (
    <section className="login" aria-labelledby="login-title">
      <Icon name="moon" />
      <h1 id="login-title" tabIndex={-1}>
        {labels.login.title}
      </h1>
      {failure && <ErrorNotice action={labels.login.action} error={failure} />}
      <p>{labels.login.instruction}</p>
      <pre className="code" tabIndex={0}>
        {labels.login.command}
      </pre>
      <p className="quiet">{labels.login.hint}</p>
    </section>
  );
}
