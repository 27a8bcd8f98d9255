// Builds again beside the committed files and compares byte for byte. Exit 3 where they differ.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";

const here = import.meta.dirname;
const committed = join(here, "../../gateway/static");
const fresh = mkdtempSync(join(tmpdir(), "crm-gateway-pages-"));

try {
  const env = { ...process.env, GRAPHIQL_OUT: join(fresh, "graphiql"), DOCS_OUT: join(fresh, "swagger") };
  execFileSync("npm", ["run", "build"], { cwd: here, env, stdio: "inherit" });
  const differing = ["graphiql", "swagger"].flatMap((part) => compare(join(committed, part), join(fresh, part)));
  if (differing.length > 0) {
    console.error(`gateway/static differs from its source; run "npm run build" in ui/graphiql:\n${differing.join("\n")}`);
    process.exitCode = 3;
  } else {
    console.log("gateway/static equals its source.");
  }
} finally {
  rmSync(fresh, { recursive: true });
}

function compare(left, right) {
  const names = new Set([...filesIn(left), ...filesIn(right)]);
  return [...names].sort().filter((name) => !sameBytes(join(left, name), join(right, name)));
}

function filesIn(folder) {
  return readdirSync(folder, { recursive: true })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => relative(folder, path));
}

function sameBytes(left, right) {
  try {
    return readFileSync(left).equals(readFileSync(right));
  } catch {
    return false;
  }
}
