import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { expect, it } from "vitest";
import { keys } from "../api/keys";
import { refresh } from "./refresh";

const queryKey = keys.decisions();

/** A page that shows an answer, and a server that gives it when it is told to. */
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

it("asks once more for a first answer that was under way when something changed", async () => {
  const { client, answer } = shown();
  const fresh = refresh(client, { queryKey });
  await answer(0, "nothing waits");
  await answer(1, "one waits");
  await fresh;
});

it("asks anew at once where nothing is under way", async () => {
  const { client, answer, asked } = shown();
  await answer(0, "nothing waits");
  const fresh = refresh(client, { queryKey });
  await answer(1, "one waits");
  await fresh;
  expect(asked()).toBe(2);
});

it("lets answers arrive however fast changes come, and asks once more for all of them", async () => {
  const { client, answer, asked } = shown();
  await answer(0, "nothing waits");
  const fresh = [refresh(client, { queryKey }), refresh(client, { queryKey }), refresh(client, { queryKey })];
  await answer(1, "one waits");
  await answer(2, "two wait");
  await Promise.all(fresh);
  expect(asked()).toBe(3);
});
