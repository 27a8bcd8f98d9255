import { defineConfig } from "vite";

// The page and the gateway have one origin: what the page asks is passed on, streams as they come.
const gateway = process.env.CRM_URL ?? "http://127.0.0.1:8000";

export default defineConfig({
  server: {
    host: "127.0.0.1",
    port: Number(process.env.PORT ?? 8301),
    proxy: Object.fromEntries(["/chat", "/graphql", "/viewer"].map((path) => [path, { target: gateway, changeOrigin: true }])),
  },
  build: { target: "es2022" },
});
