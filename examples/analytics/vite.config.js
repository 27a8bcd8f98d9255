import { defineConfig } from "vite";

export default defineConfig({
  // The files name each other relative to themselves: the page works at any address.
  base: "./",
  build: {
    outDir: "page",
    target: "es2022",
    // A data: URL would need a hole in the content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: "LICENSES.md" },
    // Vega is one large chunk, and loaded with the first chart.
    chunkSizeWarningLimit: 1500,
  },
});
