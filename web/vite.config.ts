import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// Where a daemon listens while the page is developed.
const daemon = process.env.WAKEFUL_URL ?? "http://127.0.0.1:7717";
const passedOn = { target: daemon, changeOrigin: true };

export default defineConfig({
  plugins: [react()],
  build: {
    // The page's content security policy permits no data: URL but images, and hashed files are cached for ever anyway.
    assetsInlineLimit: 0,
    target: "es2022",
    modulePreload: { polyfill: false },
  },
  server: { proxy: { "/api": passedOn, "/login": passedOn, "/healthz": passedOn, "/readyz": passedOn } },
  test: { include: ["src/**/*.test.{ts,tsx}"], environment: "happy-dom", restoreMocks: true, unstubGlobals: true },
});
