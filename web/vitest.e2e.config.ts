import { defineConfig } from "vitest/config";

// Each file has one browser and one daemon, and its tests run in order.
export default defineConfig({
  test: {
    include: ["e2e/**/*.test.ts"],
    environment: "node",
    fileParallelism: false,
    testTimeout: 90_000,
    // A button is armed 700 ms after it appears, and a busy machine adds to that.
    expect: { poll: { timeout: 10_000 } },
    hookTimeout: 90_000,
    bail: 1,
  },
});
