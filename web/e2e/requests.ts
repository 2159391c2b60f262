// Requests that a test sends beside the page, and responses that it changes on their way to the page.
import type { Page } from "playwright-core";
import { expect } from "vitest";

/** Sends a POST request with the page's login and returns the response body. */
export async function postJson(page: Page, path: string, body: unknown): Promise<Record<string, unknown>> {
  const response = await page.evaluate(
    async ([to, json]) => {
      const headers = {
        "content-type": "application/json",
        "x-wakeful-token": localStorage.getItem("wakeful.token") ?? "",
      };
      const response = await fetch(to, { method: "POST", headers, body: json });
      return { ok: response.ok, status: response.status, text: await response.text() };
    },
    [path, JSON.stringify(body)] as const,
  );
  expect(response, response.text).toMatchObject({ ok: true });
  return JSON.parse(response.text) as Record<string, unknown>;
}

/** Sends a message with options that the page does not offer, and returns its run. */
export async function sendMessage(page: Page, agentId: string, body: Record<string, unknown>): Promise<string> {
  return ((await postJson(page, `/api/agents/${agentId}/messages`, body)) as { run_key: string }).run_key;
}

export async function createAgent(page: Page, agentId: string, workspace: string): Promise<void> {
  await postJson(page, "/api/agents", { agent_id: agentId, workspace });
}

/** Changes a response of the server on its way to the page, until the test unroutes it. */
export async function changeResponse<T>(page: Page, address: RegExp, change: (old: T) => unknown): Promise<void> {
  await page.route(address, async (route) => {
    const response = await route.fetch();
    const isJson =
      response.ok() && route.request().method() === "GET" && response.headers()["content-type"]?.includes("json");
    await (isJson
      ? route.fulfill({ response, json: change((await response.json()) as T) })
      : route.fulfill({ response }));
  });
}
