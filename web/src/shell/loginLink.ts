// Logs this browser in when the page was opened by a login link.
import { createLogin } from "../api/calls";
import { asFailure, type Failure } from "../api/failure";
import { storeToken } from "../api/token";
import { briefingPath } from "./router";

const LOGIN_PATH = "/login";

let failure: Failure | undefined;

/** Why the login link failed; undefined when it worked, or when there was none. */
export function loginFailure(): Failure | undefined {
  return failure;
}

/** Exchanges the code of a login link for a login. Called once, before the first render. */
export async function loginByLink(): Promise<void> {
  if (location.pathname !== LOGIN_PATH) return;
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  // Before the request, so that the code does not stay in the address bar or the history.
  history.replaceState(null, "", briefingPath);
  if (code === null) return;
  try {
    storeToken((await createLogin(code)).token);
  } catch (thrown) {
    failure = asFailure(thrown);
  }
}
