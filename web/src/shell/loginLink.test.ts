import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { getLogins, logout } from "../api/calls";
import { tokenHeaders } from "../api/token";
import { probeStream } from "../live/probe";
import { loginByLink, loginFailure } from "./loginLink";

const asked: Request[] = [];
let answer: () => Response;

beforeEach(() => {
  asked.length = 0;
  answer = () => Response.json({ token: "secret" });
  vi.stubGlobal("fetch", async (request: Request | string, init?: RequestInit) => {
    asked.push(typeof request === "string" ? new Request(new URL(request, location.href), init) : request);
    return answer();
  });
});

afterEach(() => {
  localStorage.clear();
  history.replaceState(null, "", "/");
});

it("exchanges the code for a token and removes it from the address", async () => {
  history.replaceState(null, "", "/login#code=abc");
  await loginByLink();
  expect(await asked[0]?.json()).toEqual({ code: "abc" });
  expect(location.href).toMatch(/\/$/);
  expect(tokenHeaders()).toEqual({ "X-Wakeful-Token": "secret" });
});

it("sends the token with every request until logout", async () => {
  history.replaceState(null, "", "/login#code=abc");
  await loginByLink();
  answer = () => Response.json({ logins: [] });
  await getLogins();
  await probeStream();
  expect(asked.slice(1).map(({ headers }) => headers.get("x-wakeful-token"))).toEqual(["secret", null, "secret"]);
  answer = () => new Response(null, { status: 204 });
  await logout();
  expect(tokenHeaders()).toEqual({});
});

it("says why a login link failed", async () => {
  history.replaceState(null, "", "/login#code=abc");
  answer = () =>
    Response.json({ error: { code: "login_link_expired", message: "the link was used", hint: "" } }, { status: 410 });
  await loginByLink();
  expect(loginFailure()?.message).toBe("the link was used");
  expect(tokenHeaders()).toEqual({});
});
