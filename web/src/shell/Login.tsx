import { useEffect } from "react";
import { probeStream } from "../live/probe";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Icon } from "../ui/Icon";
import { loginFailure } from "./loginLink";
import { useTitle } from "./useTitle";

/** A browser without a session. There is no password to ask for: whoever can run the program may come in. */
export function Login() {
  useTitle("Not logged in");
  // The link opens another tab; coming back to this one, it should know.
  useEffect(() => {
    const ask = () => void probeStream();
    window.addEventListener("focus", ask);
    return () => window.removeEventListener("focus", ask);
  }, []);
  const failure = loginFailure();
  return (
    <section className="login" aria-labelledby="login-title">
      <Icon name="moon" />
      <h1 id="login-title" tabIndex={-1}>
        You are not logged in
      </h1>
      {failure && <ErrorNotice action="log in with this link" error={failure} />}
      <p>This page opens to whoever can run Wakeful on this machine. In a terminal, type:</p>
      <pre className="code" tabIndex={0}>
        wakeful open
      </pre>
      <p className="quiet">
        It opens this page with a link that works once. Afterwards this browser stays logged in for 30 days, or until
        you log out.
      </p>
    </section>
  );
}
