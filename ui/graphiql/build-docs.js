// Copies the two files of Swagger UI, and our page around them, to gateway/static/swagger/. Each file but the page
// carries a hash of its contents in its name, so that a browser may keep it for good.

import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, extname, join } from "node:path";

const here = import.meta.dirname;
const swagger = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));
const out = process.env.DOCS_OUT ?? join(here, "../../gateway/static/swagger");
// Relative to the page, which is served at <prefix>/docs.
const FILES_AS_SEEN_FROM_THE_PAGE = "static/swagger/";

rmSync(out, { recursive: true, force: true });
mkdirSync(join(out, "assets"), { recursive: true });

const files = [
  join(swagger, "swagger-ui-bundle.js"),
  join(swagger, "swagger-ui.css"),
  join(here, "docs/init.js"),
  join(here, "docs/docs.css"),
  join(here, "src/icon.svg"),
];
let page = readFileSync(join(here, "docs/index.html"), "utf8");
for (const file of files) {
  // The source maps are not shipped: without their address no developer console asks for them.
  const above = basename(file) === "init.js" ? readFileSync(join(here, "src/signin.js"), "utf8").replace(/^export /gm, "") : "";
  const content = (above + readFileSync(file, "utf8")).replace(/^\/[/*]# sourceMappingURL=.*$/gm, "").trimEnd() + "\n";
  const hash = createHash("sha256").update(content).digest("base64url").slice(0, 8);
  const extension = extname(file);
  const name = `assets/${basename(file, extension)}-${hash}${extension}`;
  writeFileSync(join(out, name), content);
  page = page.replace(`{{${basename(file)}}}`, FILES_AS_SEEN_FROM_THE_PAGE + name);
}
writeFileSync(join(out, "index.html"), page);
for (const name of ["LICENSE", "NOTICE", "swagger-ui-bundle.js.LICENSE.txt"]) {
  copyFileSync(join(swagger, name), join(out, name));
}
