import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// The daemon that the development server forwards requests to.
const daemon = process.env.WAKEFUL_URL ?? "http://127.0.0.1:7717";
// The daemon refuses changes from another origin, so the proxy sends the origin of the daemon.
const proxied = { target: daemon, changeOrigin: true, headers: { origin: daemon } };
// The development server serves the page itself, also for a login link.
const proxiedLogin = {
  ...proxied,
  bypass: ({ method }: { method?: string }) => (method === "GET" ? "/index.html" : undefined),
};

export default defineConfig({
  plugins: [react()],
  build: {
    // The content security policy of the page allows data: URLs for images only, and hashed files are cached forever.
    assetsInlineLimit: 0,
    target: "es2022",
    modulePreload: { polyfill: false },
  },
  server: { proxy: { "/api": proxied, "/login": proxiedLogin, "/healthz": proxied, "/readyz": proxied } },
  test: { include: ["src/**/*.test.{ts,tsx}"], environment: "happy-dom", restoreMocks: true, unstubGlobals: true },
});
