import { expect, it, vi } from "vitest";
import { probeStream } from "./probe";

function answer(ready: () => Response, status: () => Response = () => Response.json({})) {
  vi.stubGlobal("fetch", async (path: string) => (path === "/readyz" ? ready() : status()));
}

it("distinguishes an unreachable daemon from one that starts or stops", async () => {
  answer(() => {
    throw new TypeError("refused");
  });
  expect(await probeStream()).toBe("unreachable");
  answer(() => Response.json({ status: "recovering" }, { status: 503 }));
  expect(await probeStream()).toBe("recovering");
  answer(() => Response.json({ status: "stopping" }, { status: 503 }));
  expect(await probeStream()).toBe("stopping");
  answer(() => Response.json({ status: "failing", code: "disk_full" }, { status: 503 }));
  expect(await probeStream()).toBe("ready");
});

it("distinguishes a missing login from a ready daemon", async () => {
  const ready = () => Response.json({ status: "ready" });
  answer(ready, () => Response.json({}, { status: 401 }));
  expect(await probeStream()).toBe("loggedOut");
  answer(ready);
  expect(await probeStream()).toBe("ready");
});
