// The token and the organization of this browser tab. Session storage only: they end with the tab and no other
// tab sees them.

const TOKEN = "crm-gateway:token";
const ORGANIZATION = "crm-gateway:organization";
const OURS = /^(?:crm-gateway|graphiql):/;

let isForgetting = false;

/** The tab's storage as GraphiQL gets it, which writes late: nothing comes back into a tab that forgets. */
export const storage = {
  getItem: (name) => sessionStorage.getItem(name),
  setItem: (name, value) => isForgetting || sessionStorage.setItem(name, value),
  removeItem: (name) => sessionStorage.removeItem(name),
  clear: () => sessionStorage.clear(),
  get length() {
    return sessionStorage.length;
  },
};

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

// Tabs that keep the same token, as a duplicated one does, forget it together.
const others = new BroadcastChannel("crm-gateway:forget");
others.onmessage = ({ data }) => {
  if (data && data === load().token) forgetHere();
};

/** Forget all that this tab, and each with the same token, keeps and shows: the pages begin anew. */
export function forget() {
  others.postMessage(load().token);
  forgetHere();
}

function forgetHere() {
  isForgetting = true;
  for (const name of Object.keys(sessionStorage)) if (OURS.test(name)) sessionStorage.removeItem(name);
  location.reload();
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
  if (value) storage.setItem(name, value);
  else storage.removeItem(name);
}

// What is pasted often brings a line end, or the whole header value. A header can carry neither line ends nor
// characters outside of Latin-1 (fetch would throw a TypeError that says nothing to the reader).
export function clean(pasted) {
  return pasted.replace(/^\s*Bearer\s+/i, "").replace(/[^\x21-\x7e]/g, "");
}
