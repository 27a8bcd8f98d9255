// Signs in at the embedded identity provider: an authorization code with PKCE, exchanged once by the tab that asked.
// Both pages have it; the page says whether there is such a provider.

const KEPT = "crm-gateway:sign-in";

export const canSignIn = document.querySelector("meta[name=sign-in]")?.content === "on";

/** Leave for the page of the login, which sends the browser back to `path`; `{ problem }` where that cannot be. */
export async function signIn(client, path) {
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
export function takeAnswer() {
  const given = new URLSearchParams(location.search);
  if (!given.has("state") || !(given.has("code") || given.has("error"))) return null;
  // Replaced, not pushed: it must not stay in the history of the tab.
  history.replaceState(history.state, "", location.pathname + location.hash);
  const asked = JSON.parse(sessionStorage.getItem(KEPT) ?? "null");
  sessionStorage.removeItem(KEPT);
  return asked?.state === given.get("state") ? { ...asked, code: given.get("code") } : null;
}

/** Exchange the code: `{ token }`, or `{ problem }` in words. */
export async function exchange({ client, verifier, redirect, code }) {
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
