// The bar of the page: the credentials of this browser tab, which GraphiQL has too, and who is calling with them.

import { clean, forget, headers, load, save } from "../src/credentials.js";
import { canSignIn, exchange, signIn, takeAnswer } from "../src/signin.js";

const KINDS = { session: "session token", organization_key: "organization key", user_token: "user token" };
// Long enough for the rest of a token that is typed or pasted in pieces.
const PAUSE_MS = 250;
const at = (id) => document.getElementById(id);
const token = at("token");
const organization = at("organization");
let heard = () => {};
let timer;

/** Ask who is calling; `hear` is called with the viewer whenever it is known, and with null for nobody. */
export function begin(hear) {
  heard = hear;
  token.value = load().token;
  const answered = takeAnswer();
  if (answered) take(answered);
  else ask();
}

async function take(answered) {
  const { token: brought, problem } = await exchange(answered);
  if (brought) change({ token: brought, organization: "" });
  else say("refused", problem);
}

function change(credentials) {
  save(credentials);
  if (clean(token.value) !== credentials.token) token.value = credentials.token;
  clearTimeout(timer);
  timer = setTimeout(ask, PAUSE_MS);
}

async function ask() {
  const asked = headers();
  at("show").hidden = !asked.authorization;
  if (!asked.authorization) return nobody("waiting", "Paste a token to run operations");
  say("asking", "Asking who this is …");
  let response, viewer;
  try {
    response = await fetch(new URL("viewer", document.baseURI), { credentials: "omit", headers: asked });
    viewer = await response.json();
  } catch {
    return nobody("refused", "The service did not answer: is it still running?");
  }
  if (JSON.stringify(asked) !== JSON.stringify(headers())) return; // another token meanwhile
  if (!response.ok) {
    if (response.status === 401) return nobody("refused", "The service refused this token");
    if (!asked["x-service-org"]) return nobody("refused", "The service does not say who this is");
    return change({ token: load().token, organization: "" }); // it was of another token
  }
  if (!viewer.organization && viewer.organizations.length === 1) {
    return change({ token: load().token, organization: viewer.organizations[0].id });
  }
  known(viewer);
}

function nobody(kind, words) {
  say(kind, words);
  list(null);
  at("who-button").hidden = true;
  at("sign-in").hidden = !canSignIn;
  heard(null);
}

function known(viewer) {
  if (viewer.organization) say("ready", "Kept in this tab only");
  else say("waiting", "Choose an organization");
  list(viewer);
  at("sign-in").hidden = true;
  at("who-button").hidden = false;
  const count = viewer.scopes.length;
  at("who-button").replaceChildren(
    made("b", viewer.name ?? viewer.subject),
    ` · ${count} ${count === 1 ? "scope" : "scopes"} ▾`,
  );
  at("who").replaceChildren(...described(viewer));
  heard(viewer);
}

function say(kind, words) {
  at("status").className = `bar-status bar-status-${kind}`;
  at("status").textContent = at("status").title = words;
}

function list(viewer) {
  const all = viewer?.organizations ?? [];
  const active = viewer?.organization;
  // A key's own organization is its only one.
  const listed = active && !all.some(({ id }) => id === active.id) ? [active, ...all] : all;
  const options = listed.map(({ id, name }) => new Option(name, id, false, id === active?.id));
  if (!active) options.unshift(new Option(viewer ? "choose one …" : "—", "", true, true));
  organization.replaceChildren(...options);
  organization.disabled = viewer?.credential_kind === "organization_key" || listed.length < 1;
}

function described({ subject, email, credential_kind: kind, organization: acts, scopes }) {
  const rows = [
    ["Subject", made("code", subject)],
    email && ["E-mail", email],
    ["Credential", KINDS[kind] ?? kind],
    ["Acts in", acts ? acts.name : "no organization yet"],
    acts && ["X-Service-Org", made("code", acts.id)],
  ].filter(Boolean);
  const byNoun = Map.groupBy(scopes, (scope) => scope.split(":")[0]);
  const lines = [...byNoun].map(([noun, all]) =>
    made("li", made("code", noun), ` ${all.map((scope) => scope.split(":")[1]).join(", ")}`),
  );
  const button = made("button", "Forget the token");
  button.type = "button";
  button.addEventListener("click", forget);
  const leave = made("a", "Sign out of this browser");
  leave.href = "oauth/logout";
  return [
    made("dl", ...rows.flatMap(([term, said]) => [made("dt", term), made("dd", said)])),
    made("h2", "Scopes"),
    made("ul", ...lines),
    button,
    ...(canSignIn ? [made("p", leave)] : []),
  ];
}

function made(name, ...children) {
  const element = document.createElement(name);
  element.append(...children);
  return element;
}

token.addEventListener("input", () => change({ ...load(), token: clean(token.value) }));
organization.addEventListener("change", () => change({ ...load(), organization: organization.value }));
at("show").addEventListener("click", () => {
  const isShown = token.type === "password";
  token.type = isShown ? "text" : "password";
  at("show").textContent = isShown ? "Hide" : "Show";
  at("show").setAttribute("aria-pressed", isShown);
});
at("sign-in").addEventListener("click", async () => {
  const { problem } = await signIn("docs", "docs");
  if (problem) say("refused", problem);
});
// The browser's "back" may show the page as it was left, with a token that GraphiQL has forgotten or changed since.
addEventListener("pageshow", ({ persisted }) => {
  if (persisted && clean(token.value) !== load().token) location.reload();
});
