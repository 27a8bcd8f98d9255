// Copies the two files of Swagger UI, and our page around them, to gateway/static/swagger/. Each file but the page
// carries a hash of its contents in its name, so that a browser may keep it for good.

import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, extname, join } from "node:path";
import { build } from "vite";

const here = import.meta.dirname;
const swagger = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));
const roboto = dirname(createRequire(import.meta.url).resolve("@fontsource/roboto/package.json"));
const FONTS = ["roboto-latin-400-normal.woff2", "roboto-latin-700-normal.woff2"];
const out = process.env.DOCS_OUT ?? join(here, "../../gateway/static/swagger");
// Relative to the page, which is served at <prefix>/docs.
const FILES_AS_SEEN_FROM_THE_PAGE = "static/swagger/";

rmSync(out, { recursive: true, force: true });
mkdirSync(join(out, "assets"), { recursive: true });

const files = [
  ...FONTS.map((name) => join(roboto, "files", name)),
  join(swagger, "swagger-ui-bundle.js"),
  join(swagger, "swagger-ui.css"),
  join(here, "docs/theme.js"),
  join(here, "docs/init.js"),
  join(here, "src/bar.css"),
  join(here, "docs/docs.css"),
  join(here, "src/icon.svg"),
];
// A stylesheet names the fonts, which stand beside it, by their own names.
const fonts = new Map();
let page = readFileSync(join(here, "docs/index.html"), "utf8");
for (const file of files) {
  // The source maps are not shipped: without their address no developer console asks for them.
  const content = await contentOf(file);
  const hash = createHash("sha256").update(content).digest("base64url").slice(0, 8);
  const extension = extname(file);
  const name = `assets/${basename(file, extension)}-${hash}${extension}`;
  writeFileSync(join(out, name), content);
  if (extension === ".woff2") fonts.set(basename(file), basename(name));
  page = page.replace(`{{${basename(file)}}}`, FILES_AS_SEEN_FROM_THE_PAGE + name);
}
writeFileSync(join(out, "index.html"), page);
for (const name of ["LICENSE", "NOTICE", "swagger-ui-bundle.js.LICENSE.txt"]) {
  copyFileSync(join(swagger, name), join(out, name));
}
copyFileSync(join(roboto, "LICENSE"), join(out, "LICENSE-Roboto.txt"));

async function contentOf(file) {
  if (extname(file) === ".woff2") return readFileSync(file);
  const read = basename(file) === "init.js" ? await bundled(file) : readFileSync(file, "utf8");
  const named = [...fonts].reduce((text, [name, hashed]) => text.replace(`url("${name}")`, `url("${hashed}")`), read);
  return named.replace(/^\/[/*]# sourceMappingURL=.*$/gm, "").trimEnd() + "\n";
}

/** The file with all that it imports, as one that a person can read. */
async function bundled(entry) {
  const [{ output }] = await build({
    configFile: false,
    logLevel: "warn",
    build: { write: false, minify: false, target: "es2022", lib: { entry, formats: ["es"] } },
  });
  return output[0].code;
}
