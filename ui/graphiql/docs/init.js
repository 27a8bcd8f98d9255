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
