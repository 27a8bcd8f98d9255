// The key that goes with mutations. It lasts as long as the page: one that came back by itself would hold up a new write.

let key = "";

export function load() {
  return key;
}

/** Keep what a header can carry of it, and return that. */
export function save(given) {
  key = given.replace(/[^\x21-\x7e]/g, "");
  return key;
}

/** A new key; `crypto.randomUUID` is there on secure origins alone. */
export function made() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The header for an operation of this kind. */
export function header(kind) {
  return key && kind === "mutation" ? { "idempotency-key": key } : {};
}
