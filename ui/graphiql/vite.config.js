import { readFileSync } from "node:fs";
import { defineConfig } from "vite";

// The page is served at <prefix>/graphql and its files at <prefix>/static/graphiql/, so the page names them
// relative to itself. The files name each other relative to themselves (base "./"). Nothing knows the prefix.
const FILES_AS_SEEN_FROM_THE_PAGE = "static/graphiql/";

// What is bundled by a stylesheet alone is in no list that Vite makes.
const fontLicense = {
  name: "font-license",
  generateBundle() {
    const source = readFileSync(new URL("node_modules/@fontsource/roboto/LICENSE", import.meta.url), "utf8");
    this.emitFile({ type: "asset", fileName: "LICENSE-Roboto.txt", source });
  },
};

export default defineConfig({
  base: "./",
  plugins: [fontLicense],
  worker: { format: "es" },
  experimental: {
    renderBuiltUrl(name, { hostType }) {
      return hostType === "html" ? FILES_AS_SEEN_FROM_THE_PAGE + name : { relative: true };
    },
  },
  build: {
    outDir: process.env.GRAPHIQL_OUT ?? "../../gateway/static/graphiql",
    emptyOutDir: true,
    target: "es2022",
    // A data: URL would need a hole in the content security policy wherever it is used.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: "LICENSES.md" },
    // Monaco is one large chunk by nature; it is cached for good once loaded.
    chunkSizeWarningLimit: 5000,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            // Apart from our own code: a change of the page renames and rewrites small files only.
            { name: "graphiql", test: /node_modules[\\/](?!monaco-|prettier)/, tags: ["$initial"] },
          ],
        },
      },
      onLog(level, log, report) {
        // "use client" speaks to server-side rendering, which there is none of here.
        if (log.code !== "MODULE_LEVEL_DIRECTIVE") report(level, log);
      },
    },
  },
});
