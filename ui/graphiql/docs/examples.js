// What the caller's organization has takes the place of what the description has as examples: identifiers in paths and
// bodies. So an operation runs as it stands.

// A document for each scope group: who may not read one part sees the others.
const DOCUMENTS = [
  `{ accounts(first: 1) { nodes { id } } contacts(first: 2) { nodes { id } } deals(first: 1) { nodes { id } }
     leads(first: 1, filter: { status: { eq: NEW } }) { nodes { id } } pipelineStages { id }
     members(first: 2) { nodes { id } } tags(first: 2) { nodes { id } } salesTargets(first: 1) { nodes { id } }
     folders(first: 1) { nodes { id } } files(first: 1) { nodes { id } } dataImports(first: 1) { nodes { id } }
     merges(first: 1) { nodes { id } } integrations(first: 1) { nodes { id } }
     reports(first: 5) { nodes { id runs(first: 1) { nodes { id } } } }
     researchRuns(first: 1) { nodes { id results(first: 5) { nodes { id cxReport { render { id } artifacts { url } } } } } }
     chatThreads(first: 5) { nodes { id runs(first: 1) { nodes { id } } } } chatApprovals(first: 1) { nodes { id } } }`,
  `{ activities(first: 1) { nodes { id } } meetings(first: 1) { nodes { id } } }`,
  `{ campaigns(first: 1) { nodes { id } } }`,
  `{ savedQueries(first: 1) { nodes { id } } analyticsRuns(first: 1) { nodes { id conversationId } } }`,
  `{ organizationKeys { id } }`,
  `{ userTokens { id } }`,
];

// Where an identifier stands in a path, by what is before it, and where it is found in the answers.
const PLACES = {
  "/accounts": ({ accounts }) => ids(accounts),
  "/activities": ({ activities }) => ids(activities),
  "/activities/meetings": ({ meetings }) => ids(meetings),
  "/analytics/conversations": ({ analyticsRuns }) => analyticsRuns?.nodes.map((run) => run.conversationId),
  "/analytics/runs": ({ analyticsRuns }) => ids(analyticsRuns),
  "/analytics/saved-queries": ({ savedQueries }) => ids(savedQueries),
  "/chat/approvals": ({ chatApprovals }) => ids(chatApprovals),
  "/chat/runs": ({ chatThreads }) => chatThreads?.nodes.flatMap(({ runs }) => ids(runs)),
  "/chat/threads": ({ chatThreads }) => ids(chatThreads),
  "/contacts": ({ contacts }) => ids(contacts),
  "/customer-intelligence/runs": ({ researchRuns }) => ids(researchRuns),
  "/customer-intelligence/runs/{run_id}/results": (all) => reported(all).map(({ id }) => id),
  "/deals": ({ deals }) => ids(deals),
  "/deals/{deal_id}/contacts": ({ contacts }) => ids(contacts),
  "/files": ({ files }) => ids(files),
  "/folders": ({ folders }) => ids(folders),
  "/imports": ({ dataImports }) => ids(dataImports),
  "/integrations": ({ integrations }) => ids(integrations),
  "/jobs": (all) => reported(all).map(({ cxReport }) => cxReport.render?.id),
  "/leads": ({ leads }) => ids(leads),
  "/media": (all) => reported(all).flatMap(({ cxReport }) => cxReport.artifacts.map(({ url }) => url.split("/").pop())),
  "/members": ({ members }) => ids(members),
  "/merges": ({ merges }) => ids(merges),
  "/organization-pats": ({ organizationKeys }) => organizationKeys?.map(({ id }) => id),
  "/outreach/campaigns": ({ campaigns }) => ids(campaigns),
  "/pipeline-stages": ({ pipelineStages }) => pipelineStages?.map(({ id }) => id),
  "/records": ({ deals }) => ids(deals),
  "/records/{record_id}/files": ({ files }) => ids(files),
  "/report-runs": ({ reports }) => reports?.nodes.flatMap(({ runs }) => ids(runs)),
  "/reports": ({ reports }) => ids(reports),
  "/sales-targets": ({ salesTargets }) => ids(salesTargets),
  "/tags": ({ tags }) => ids(tags),
  "/user-pats": ({ userTokens }) => userTokens?.map(({ id }) => id),
};
const PART = /\/\{(\w+)\}/g;

const ids = (connection) => connection?.nodes.map(({ id }) => id) ?? [];
const reported = ({ researchRuns }) =>
  researchRuns?.nodes.flatMap(({ results }) => results.nodes.filter(({ cxReport }) => cxReport)) ?? [];

/** The identifiers that there are, by the path before them; `post(document)` gives the answer's `data`. */
export async function found(post) {
  const all = Object.assign({}, ...(await Promise.all(DOCUMENTS.map(post))));
  const entries = Object.entries(PLACES).map(([place, read]) => [place, (read(all) ?? []).filter(Boolean)]);
  return Object.fromEntries(entries.filter(([, known]) => known.length > 0));
}

/**
 * What an answer brought of new identifiers, by the path before them: the record that a POST to its list made, and each
 * path that the answer names, such as where a job is followed.
 */
export function madeBy(spec, method, { ok, url, headers, body }) {
  if (!ok || method !== "POST") return {};
  const base = new URL(document.baseURI).pathname.replace(/[^/]*$/, "");
  const asked = new URL(url).pathname.slice(base.length - 1);
  const texts = [headers?.location, ...Object.values(body ?? {})].filter((text) => /^\/\w/.test(text));
  const named = [body?.id && `${asked}/${body.id}`, ...texts].filter(Boolean);
  const places = Object.keys(spec.paths).filter((path) => /^[^{}]+\/\{\w+\}$/.test(path));
  return Object.fromEntries(
    named.flatMap((path) => {
      const [, place, made] = path.match(/^(.+)\/([^/]+)$/) ?? [];
      return places.some((one) => one.startsWith(`${place}/{`)) ? [[place, [decodeURIComponent(made)]]] : [];
    }),
  );
}

/** For each operation `{ path, method, parameters, body }` what it begins with, where something is known. */
export function filled(spec, known) {
  const samples = samplesOf(spec, known);
  return Object.entries(spec.paths).flatMap(([path, methods]) => {
    const parameters = Object.fromEntries(
      [...path.matchAll(PART)]
        .map((match) => [match[1], known[path.slice(0, match.index)]?.[0]])
        .filter(([, value]) => value),
    );
    return Object.entries(methods).map(([method, operation]) => {
      const example = operation.requestBody?.content["application/json"]?.example;
      return { path, method, parameters, body: example && replaced(example, samples) };
    });
  });
}

/** Which identifiers of the description's examples stand for which known ones. */
function samplesOf(spec, known) {
  const samples = new Map();
  for (const [place, values] of Object.entries(known)) {
    const answer = spec.paths[place]?.get?.responses["200"]?.content?.["application/json"]?.example;
    const sample = Array.isArray(answer) && (answer[0]?.id ?? answer[0]?.lead_id);
    if (sample && !samples.has(sample)) samples.set(sample, values[0]);
  }
  return samples;
}

/** The example with known identifiers in it, as text; null where it has none to replace. */
function replaced(example, samples) {
  let isChanged = false;
  const text = JSON.stringify(
    example,
    (_, value) => {
      if (!samples.has(value)) return value;
      isChanged = true;
      return samples.get(value);
    },
    2,
  );
  return isChanged ? text : null;
}
