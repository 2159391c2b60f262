import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { expect, it } from "vitest";
import { keys } from "../api/keys";
import { refresh } from "./refresh";

const queryKey = keys.decisions();

/** A page with one query, and a server that responds when the test says so. */
function shown() {
  const client = new QueryClient();
  const answers: ((answer: string) => void)[] = [];
  const queryFn = () => new Promise<string>((resolve) => answers.push(resolve));
  const observer = new QueryObserver(client, { queryKey, queryFn });
  observer.subscribe(() => undefined);
  const answer = async (nth: number, text: string) => {
    await expect.poll(() => answers.length).toBeGreaterThan(nth);
    answers[nth]?.(text);
    await expect.poll(() => client.getQueryData(queryKey)).toBe(text);
  };
  return { client, answer, asked: () => answers.length };
}

it("fetches again after a request that was in progress during a change", async () => {
  const { client, answer } = shown();
  const fresh = refresh(client, { queryKey });
  await answer(0, "nothing waits");
  await answer(1, "one waits");
  await fresh;
});

it("fetches at once when no request is in progress", async () => {
  const { client, answer, asked } = shown();
  await answer(0, "nothing waits");
  const fresh = refresh(client, { queryKey });
  await answer(1, "one waits");
  await fresh;
  expect(asked()).toBe(2);
});

it("several changes during a request cause one more request", async () => {
  const { client, answer, asked } = shown();
  await answer(0, "nothing waits");
  const fresh = [refresh(client, { queryKey }), refresh(client, { queryKey }), refresh(client, { queryKey })];
  await answer(1, "one waits");
  await answer(2, "two wait");
  await Promise.all(fresh);
  expect(asked()).toBe(3);
});
