import { defineConfig } from "vitest/config";

// One browser and one daemon: the tests tell one story, in order.
export default defineConfig({
  test: {
    include: ["e2e/**/*.test.ts"],
    environment: "node",
    fileParallelism: false,
    testTimeout: 90_000,
    hookTimeout: 90_000,
    bail: 1,
  },
});
