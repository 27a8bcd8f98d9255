// Signs in at the embedded identity provider: an authorization code with PKCE, exchanged once by the tab that asked.
// Both pages have it; the page says whether there is such a provider.

const KEPT = "crm-gateway:sign-in";

const canSignIn = document.querySelector("meta[name=sign-in]")?.content === "on";

/** Leave for the page of the login, which sends the browser back to `path`; `{ problem }` where that cannot be. */
async function signIn(client, path) {
  // Browsers have no hash function where somebody on the way could change the page.
  if (!crypto.subtle) return { problem: "Signing in needs https, or the service on this machine" };
  const [verifier, state] = [random(), random()];
  const redirect = new URL(path, document.baseURI);
  redirect.search = redirect.hash = "";
  sessionStorage.setItem(KEPT, JSON.stringify({ client, verifier, state, redirect: redirect.href }));
  const asked = new URLSearchParams({
    response_type: "code",
    client_id: client,
    redirect_uri: redirect.href,
    code_challenge: base64url(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier))),
    code_challenge_method: "S256",
    state,
  });
  location.assign(new URL(`oauth/authorize?${asked}`, document.baseURI));
  return {};
}

/** Take what the login sent out of the address; null where it sent nothing, or this tab did not ask. */
function takeAnswer() {
  const given = new URLSearchParams(location.search);
  if (!given.has("state") || !(given.has("code") || given.has("error"))) return null;
  // Replaced, not pushed: it must not stay in the history of the tab.
  history.replaceState(history.state, "", location.pathname + location.hash);
  const asked = JSON.parse(sessionStorage.getItem(KEPT) ?? "null");
  sessionStorage.removeItem(KEPT);
  return asked?.state === given.get("state") ? { ...asked, code: given.get("code") } : null;
}

/** Exchange the code: `{ token }`, or `{ problem }` in words. */
async function exchange({ client, verifier, redirect, code }) {
  if (!code) return { problem: "Nobody was signed in" };
  try {
    const response = await fetch(new URL("oauth/token", document.baseURI), {
      method: "POST",
      credentials: "omit",
      body: new URLSearchParams({
        grant_type: "authorization_code",
        client_id: client,
        redirect_uri: redirect,
        code,
        code_verifier: verifier,
      }),
    });
    if (response.ok) return { token: (await response.json()).access_token };
  } catch {
    return { problem: "The service did not answer: is it still running?" };
  }
  return { problem: "Signing in took too long: please try again" };
}

function random() {
  return base64url(crypto.getRandomValues(new Uint8Array(32)));
}

function base64url(bytes) {
  return btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}
/* global SwaggerUIBundle, canSignIn, exchange, signIn, takeAnswer */
// The token and the organization of this browser tab, under the names that GraphiQL has for them. Session storage only:
// they end with the tab, and what Swagger UI itself could keep would outlive it.
const fields = { token: document.getElementById("token"), organization: document.getElementById("organization") };
const kept = document.getElementById("kept");

// What is pasted often brings a line end, or the whole header value; a header takes visible ASCII only.
const clean = (pasted) => pasted.replace(/^\s*Bearer\s+/i, "").replace(/[^\x21-\x7e]/g, "");

function show() {
  const token = clean(fields.token.value);
  // An organization key already names its organization, and the service refuses a second opinion.
  fields.organization.disabled = token.startsWith("ak_");
  kept.textContent = token ? "Kept until this tab is closed." : "Paste a token, then try any path.";
}

for (const [name, field] of Object.entries(fields)) {
  field.value = sessionStorage.getItem(`crm-gateway:${name}`) ?? "";
  field.addEventListener("input", () => {
    sessionStorage.setItem(`crm-gateway:${name}`, clean(field.value));
    show();
  });
}
// The browser's "back" may show the page as it was left, with a token that GraphiQL has forgotten or changed since.
addEventListener("pageshow", ({ persisted }) => {
  if (persisted && clean(fields.token.value) !== (sessionStorage.getItem("crm-gateway:token") ?? "")) location.reload();
});
document.getElementById("credential").addEventListener("submit", (event) => event.preventDefault());
show();

// src/signin.js stands above this file in what the page loads (build-docs.js).
const button = document.getElementById("sign-in");
button.hidden = !canSignIn;
button.addEventListener("click", async () => {
  kept.textContent = (await signIn("docs", "docs")).problem ?? "";
});
const signedIn = takeAnswer();
if (signedIn) {
  exchange(signedIn).then(({ token, problem }) => {
    if (token) {
      fields.token.value = token;
      fields.token.dispatchEvent(new Event("input"));
    } else kept.textContent = problem;
  });
}

function withCredential(request) {
  // Nothing is sent to another host, whatever the description should come to say.
  if (new URL(request.url, document.baseURI).origin !== location.origin) return request;
  const token = clean(fields.token.value);
  const organization = fields.organization.disabled ? "" : clean(fields.organization.value);
  if (token) request.headers["Authorization"] ??= `Bearer ${token}`;
  if (token && organization) request.headers["X-Service-Org"] ??= organization;
  return request;
}

// The page is served at <prefix>/docs and the description at <prefix>/openapi.json.
SwaggerUIBundle({
  url: new URL("openapi.json", document.baseURI).href,
  dom_id: "#swagger-ui",
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  filter: true,
  persistAuthorization: false,
  requestInterceptor: withCredential,
  presets: [SwaggerUIBundle.presets.apis],
  tryItOutEnabled: true,
  // The online validator is another host.
  validatorUrl: null,
});
