// What a link to this page brings in its fragment: `#code=…` of the demo, `#token=…&org=…`, or `#org=…` alone.
// A link must not sign anybody in: it may come from anyone (decision 166).

import { clean } from "./credentials.js";

const LOOPBACK = /^(?:localhost|.+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;
const OWN = new Set(["none", "same-origin"]);

/** Take the link out of the address; null where there is none. What it does not name is undefined. */
export function takeFromAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  const [code, token, organization] = ["code", "token", "org"].map((name) => clean(given.get(name) ?? "") || undefined);
  if (!code && !token && !organization) return null;
  // Replaced, not pushed: it must not stay in the history of the tab.
  history.replaceState(history.state, "", location.pathname + location.search);
  return { code, token, organization };
}

/**
 * What to do with a link, given what the tab keeps: "ignore" what signs in elsewhere than on this machine, "nothing"
 * where nothing would change, "ask" where it would take the place of a kept token or another site led here, or "take".
 */
export function judge(link, kept) {
  if ((link.code || link.token) && !LOOPBACK.test(location.hostname)) return "ignore";
  const wanted = outcome(link, kept);
  if (!link.code && wanted.token === kept.token && wanted.organization === kept.organization) return "nothing";
  return kept.token || isLedByAnother() ? "ask" : "take";
}

/** What the tab would keep after a link without a code: an organization alone leaves the token as it is. */
export function outcome({ token, organization }, kept) {
  return token
    ? { token, organization: organization ?? "" }
    : { token: kept.token, organization: organization ?? kept.organization };
}

/** Whether a page of another origin led here, by the service's word where the browser told it, and by the referrer. */
export function isLedByAnother() {
  const site = document.querySelector("meta[name=led-by]").content;
  if (site && !OWN.has(site)) return true;
  return document.referrer !== "" && new URL(document.referrer).origin !== location.origin;
}

/** Exchange a code of the demo, which works once: `{ token, organization }`, or `{ problem }` in words. */
export async function redeem(code) {
  let response;
  try {
    response = await fetch(new URL("demo/token", document.baseURI), {
      method: "POST",
      credentials: "omit",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ code }),
    });
    if (response.ok) return await response.json();
  } catch {
    return { problem: "The service did not answer: is it still running?" };
  }
  return { problem: "The code of this link was used already, or has run out: paste the token instead" };
}
