import { defineConfig } from "vite";

// The page and the gateway have one origin: requests and sockets are passed on.
const gateway = process.env.CRM_URL ?? "http://127.0.0.1:8000";

export default defineConfig({
  server: {
    host: "127.0.0.1",
    port: Number(process.env.PORT ?? 8302),
    proxy: { "/graphql": { target: gateway, changeOrigin: true, ws: true, rewriteWsOrigin: true } },
  },
  build: { target: "es2022" },
});
