// The token and the organization of this browser tab. Session storage only: they end with the tab and no other
// tab sees them.

const TOKEN = "crm-gateway:token";
const ORGANIZATION = "crm-gateway:organization";

/** Take `#token=…&org=…` out of the address (a ready link from the terminal) and keep what it carries. */
export function takeFromAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  if (!given.has("token") && !given.has("org")) return;
  save({ token: given.get("token") ?? "", organization: given.get("org") ?? "" });
  // Replaced, not pushed: the token must not stay in the history of the tab.
  history.replaceState(history.state, "", location.pathname + location.search);
}

export function load() {
  return {
    token: sessionStorage.getItem(TOKEN) ?? "",
    organization: sessionStorage.getItem(ORGANIZATION) ?? "",
  };
}

export function save({ token, organization }) {
  keep(TOKEN, clean(token));
  keep(ORGANIZATION, clean(organization));
}

/** What goes with a request, and with `connection_init` of a socket: names in lower case serve both. */
export function headers() {
  const { token, organization } = load();
  const sent = {};
  if (token) sent["authorization"] = `Bearer ${token}`;
  // An organization key (`ak_…`) names its own, and the service refuses a second opinion.
  if (organization && !token.startsWith("ak_")) sent["x-service-org"] = organization;
  return sent;
}

function keep(name, value) {
  if (value) sessionStorage.setItem(name, value);
  else sessionStorage.removeItem(name);
}

// What is pasted often brings a line end, or the whole header value. A header can carry neither line ends nor
// characters outside of Latin-1 (fetch would throw a TypeError that says nothing to the reader).
function clean(pasted) {
  return pasted.replace(/^\s*Bearer\s+/i, "").replace(/[^\x21-\x7e]/g, "");
}
