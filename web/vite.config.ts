import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// Where a daemon listens while the page is developed.
const daemon = process.env.WAKEFUL_URL ?? "http://127.0.0.1:7717";
// The daemon refuses changes from a foreign page, which the development server's would be.
const passedOn = { target: daemon, changeOrigin: true, headers: { origin: daemon } };
// The page itself is shown by the development server, also where a login link leads.
const loginOn = {
  ...passedOn,
  bypass: ({ method }: { method?: string }) => (method === "GET" ? "/index.html" : undefined),
};

export default defineConfig({
  plugins: [react()],
  build: {
    // The page's content security policy permits no data: URL but images, and hashed files are cached for ever anyway.
    assetsInlineLimit: 0,
    target: "es2022",
    modulePreload: { polyfill: false },
  },
  server: { proxy: { "/api": passedOn, "/login": loginOn, "/healthz": passedOn, "/readyz": passedOn } },
  test: { include: ["src/**/*.test.{ts,tsx}"], environment: "happy-dom", restoreMocks: true, unstubGlobals: true },
});
