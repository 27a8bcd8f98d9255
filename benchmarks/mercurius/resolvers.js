// One statement for each root field, with what its selection asks for; loaders for what lies below a record.
import { rows } from "./database.js";
import { selection, snake } from "./selection.js";

const NEWEST = "t.created_at DESC, t.id";
const LATEST = "t.due_at DESC NULLS LAST, t.created_at DESC, t.id";
const COMPARED = { eq: "=", lt: "<", gte: ">=" };

async function page(type, where, order, values, { first, offset }, info) {
  const { columns, table, joins, record } = selection(type, info.fieldNodes[0], "nodes");
  const limits = `LIMIT $${values.push(first)} OFFSET $${values.push(offset)}`;
  const text = `SELECT ${columns} FROM ${table} t ${joins} WHERE t.org_id = $1${where} ORDER BY ${order} ${limits}`;
  return { nodes: (await rows(text, values)).map(record) };
}

function narrowed(filter, values) {
  let text = " AND t.type = 'meeting'";
  for (const [field, comparisons] of Object.entries(filter ?? {}))
    for (const [comparator, value] of Object.entries(comparisons))
      text += ` AND t.${snake(field)} ${COMPARED[comparator]} $${values.push(value)}`;
  return text;
}

// The changed row with the links that the answer selects, in the statement of the change.
async function changed(statement, values, info) {
  const { columns, joins, record } = selection("Deal", info.fieldNodes[0], "deal");
  const [row] = await rows(`WITH t AS (${statement} RETURNING *) SELECT ${columns} FROM t ${joins}`, values);
  return { deal: row === undefined ? null : record(row), userErrors: [] };
}

const typeOfStage = (place) => `(SELECT s.type FROM pipeline_stages s WHERE s.org_id = $1 AND s.id = ${place})`;

const KINDS = { ACCOUNT: 1, CONTACT: 2, DEAL: 4 };
const HITS = `
  SELECT e.kind, e.id, coalesce(a.name, d.name), c.first_name, c.last_name FROM (
    SELECT org_id, kind, id, size <> $4 AS far, created_at FROM search_entries
    WHERE org_id = $1 AND kind = ANY ($2) AND words @@ $3::tsquery ORDER BY size <> $4, kind, created_at DESC, id LIMIT $5
  ) e
  LEFT JOIN accounts a ON e.kind = 1 AND a.org_id = e.org_id AND a.id = e.id
  LEFT JOIN contacts c ON e.kind = 2 AND c.org_id = e.org_id AND c.id = e.id
  LEFT JOIN deals d ON e.kind = 4 AND d.org_id = e.org_id AND d.id = e.id
  ORDER BY e.far, e.kind, e.created_at DESC, e.id`;

// Words are stored behind the end of their organization's identifier and the place where they stand.
function sought(organization, query, places) {
  const mark = organization.replaceAll("-", "").slice(-8);
  const words = query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.map((word) => `(${[...places].map((place) => `${mark}${place}${word}:*`).join(" | ")})`).join(" & ");
}

function hit([kind, id, name, firstName, lastName]) {
  if (kind === 2) return { type: "CONTACT", node: { __typename: "Contact", id, firstName, lastName } };
  const [type, __typename] = kind === 1 ? ["ACCOUNT", "Account"] : ["DEAL", "Deal"];
  return { type, node: { __typename, id, name } };
}

export const resolvers = {
  Query: {
    meetings: (_, args, { organization }, info) => {
      const values = [organization];
      return page("Meeting", narrowed(args.filter, values), LATEST, values, args, info);
    },
    deals: (_, args, { organization }, info) => page("Deal", "", NEWEST, [organization], args, info),
    accounts: (_, args, { organization }, info) => page("Account", "", NEWEST, [organization], args, info),

    deal: async (_, { id }, { organization }, info) => {
      const { columns, table, joins, record } = selection("Deal", info.fieldNodes[0]);
      const text = `SELECT ${columns} FROM ${table} t ${joins} WHERE t.org_id = $1 AND t.id = $2`;
      const [row] = await rows(text, [organization, id]);
      return row === undefined ? null : record(row);
    },

    dealBoard: async (_, __, { organization }) => {
      const found = await rows(
        `SELECT s.id, s.name, coalesce(m.totals, '[]') FROM pipeline_stages s LEFT JOIN (
           SELECT stage_id, json_agg(json_build_object('currency', currency, 'amount', amount::text, 'count', count)
             ORDER BY currency) AS totals
           FROM (SELECT stage_id, currency, coalesce(sum(value), 0) AS amount, count(*) FROM deals
             WHERE org_id = $1 GROUP BY stage_id, currency) t GROUP BY stage_id
         ) m ON m.stage_id = s.id WHERE s.org_id = $1 ORDER BY s.position`,
        [organization],
      );
      return { columns: found.map(([id, name, totals]) => ({ stage: { id, name }, totals })) };
    },

    search: async (_, { query, types, first }, { organization }) => {
      const found = new Map();
      for (const places of ["n", "no"]) {
        if (found.size >= first) break;
        const kinds = types.map((type) => KINDS[type]);
        const asked = sought(organization, query, places);
        for (const row of await rows(HITS, [organization, kinds, asked, query.length, first]))
          if (!found.has(row[1])) found.set(row[1], row);
      }
      return [...found.values()].slice(0, first).map(hit);
    },
  },

  Mutation: {
    dealCreate: (_, { input }, { organization }, info) => {
      const fields = Object.keys(input);
      const places = fields.map((_, index) => `$${index + 2}`);
      const stage = places[fields.indexOf("stageId")];
      const status = stage === undefined ? "'open'" : typeOfStage(stage);
      const statement = `INSERT INTO deals
        (org_id, id, ${fields.map(snake)}, status, competitors, created_at, updated_at, version)
        VALUES ($1, gen_random_uuid(), ${places}, ${status}, '[]', now(), now(), 1)`;
      return changed(statement, [organization, ...Object.values(input)], info);
    },

    dealUpdate: (_, { id, input }, { organization }, info) => {
      const fields = Object.keys(input);
      const assigned = fields.map((field, index) => `${snake(field)} = $${index + 3}`);
      if ("stageId" in input) assigned.push(`status = ${typeOfStage(`$${fields.indexOf("stageId") + 3}`)}`);
      const statement = `UPDATE deals SET ${assigned}, updated_at = now(), version = version + 1
        WHERE org_id = $1 AND id = $2`;
      return changed(statement, [organization, id, ...Object.values(input)], info);
    },
  },
};

// What the loaders find, by the first column of their rows.
function grouped(found) {
  const groups = new Map();
  for (const row of found) {
    const group = groups.get(row[0]);
    if (group === undefined) groups.set(row[0], [row]);
    else group.push(row);
  }
  return groups;
}

const uncached = (loader) => ({ loader, opts: { cache: false } });
const HEALTH = `
  SELECT DISTINCT ON (h.account_id) h.account_id, h.id, h.score, h.trend, h.snapshot_at, (
    SELECT json_agg(json_build_object('key', f.key, 'label', f.label, 'score', f.score, 'weight', f.weight,
      'value', f.value, 'explanation', f.explanation, 'sampleSize', f.sample_size) ORDER BY f.position)
    FROM health_factors f WHERE f.org_id = h.org_id AND f.health_score_id = h.id)
  FROM health_snapshots h WHERE h.org_id = $1 AND h.account_id = ANY ($2)
  ORDER BY h.account_id, h.snapshot_at DESC, h.id DESC`;

export const loaders = {
  Account: {
    health: uncached(async (queries, { organization }) => {
      const found = grouped(await rows(HEALTH, [organization, queries.map(({ obj }) => obj.id)]));
      return queries.map(({ obj }) => {
        if (!found.has(obj.id)) return null;
        const [[, id, score, trend, snapshotAt, factors]] = found.get(obj.id);
        return { id, score, trend, snapshotAt, factors: factors ?? [] };
      });
    }),
  },
  Deal: {
    contacts: uncached(async (queries, { organization }) => {
      const { columns, joins, record, width } = selection("Contact", queries[0].info.fieldNodes[0], "nodes");
      const found = grouped(
        await rows(
          `SELECT l.deal_id, ${columns} FROM deal_contacts l
           JOIN contacts t ON t.org_id = l.org_id AND t.id = l.contact_id ${joins}
           WHERE l.org_id = $1 AND l.deal_id = ANY ($2) ORDER BY l.deal_id, l.linked_at, t.id`,
          [organization, queries.map(({ obj }) => obj.id)],
        ),
      );
      return queries.map(({ obj }) => ({ nodes: (found.get(obj.id) ?? []).map((row) => record(row.slice(-width))) }));
    }),
  },
  DealBoardColumn: {
    deals: uncached(async (queries, { organization }) => {
      const { columns, joins, record, width } = selection("Deal", queries[0].info.fieldNodes[0], "nodes");
      const found = grouped(
        await rows(
          `SELECT t.stage_id, ${columns} FROM unnest($2::uuid[]) s (id) CROSS JOIN LATERAL (
             SELECT * FROM deals t WHERE t.org_id = $1 AND t.stage_id = s.id ORDER BY ${NEWEST} LIMIT $3
           ) t ${joins} ORDER BY t.stage_id, ${NEWEST}`,
          [organization, queries.map(({ obj }) => obj.stage.id), queries[0].params.first],
        ),
      );
      return queries.map(({ obj }) => ({
        nodes: (found.get(obj.stage.id) ?? []).map((row) => record(row.slice(-width))),
      }));
    }),
  },
};
