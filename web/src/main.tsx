import { QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { clearSuspicion } from "./live/connection";
import { retryDelay, retryWhileTransient } from "./live/retry";
import { App } from "./shell/App";
import { loginByLink } from "./shell/loginLink";
import { applyStoredTheme } from "./shell/theme";
import "./style/index.css";

applyStoredTheme();
await loginByLink();

const client = new QueryClient({
  queryCache: new QueryCache({ onSuccess: clearSuspicion }),
  defaultOptions: {
    queries: {
      retry: retryWhileTransient,
      retryDelay,
      // The stream reports what is stale, and when the connection is back.
      refetchOnReconnect: false,
      staleTime: 5_000,
      // The daemon is on this machine: it is reachable without a network.
      networkMode: "always",
    },
    mutations: { networkMode: "always" },
  },
});

createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <App />
    </QueryClientProvider>
  </StrictMode>,
);
