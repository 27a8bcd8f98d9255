import { useEffect, useState } from "react";
import { headers } from "./credentials.js";
import { post } from "./endpoint.js";

const WHO_AM_I = `query WhoAmI {
  viewer {
    subject name email credentialKind scopes
    organization { id name }
    organizations { id name }
  }
}`;
const NOBODY = { state: "nobody", viewer: null };
// Long enough for the rest of a token that is typed or pasted in pieces.
const PAUSE_MS = 250;
const NOT_HERE = new Set(["ORGANIZATION_MISMATCH", "ORGANIZATION_NOT_ACCEPTED"]);

/**
 * Who the credentials say is calling: `state` is nobody, asking, known, refused or silent; `viewer` is what the
 * service says. `turn` asks again when it changes. `chooseOrganization(id)` is called where the chosen one cannot
 * be, with "" for the token's own, or where there is one only.
 */
export function useViewer({ token, organization }, turn, chooseOrganization) {
  const [answer, setAnswer] = useState(NOBODY);
  useEffect(() => {
    if (!token) {
      setAnswer(NOBODY);
      return undefined;
    }
    setAnswer((before) => ({ ...before, state: "asking" }));
    const leaving = new AbortController();
    const timer = setTimeout(async () => {
      const { status, answer: said } = await post({ query: WHO_AM_I }, headers(), leaving.signal);
      if (leaving.signal.aborted) return;
      const viewer = said.data?.viewer;
      if (!viewer) {
        if (organization && NOT_HERE.has(said.errors?.[0]?.extensions?.code)) chooseOrganization("");
        else setAnswer({ state: status === 401 ? "refused" : "silent", viewer: null });
        return;
      }
      setAnswer({ state: "known", viewer });
      if (!viewer.organization && viewer.organizations.length === 1) chooseOrganization(viewer.organizations[0].id);
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [token, organization, turn, chooseOrganization]);
  return answer;
}
