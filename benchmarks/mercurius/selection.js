// What a selection of fields needs: columns, joins along links to one, and a function that makes objects of rows.
// Compiled once for each place in a document, which Mercurius keeps parsed.

const TABLES = {
  Account: { table: "accounts", links: {} },
  Contact: { table: "contacts", links: {} },
  PipelineStage: { table: "pipeline_stages", links: {} },
  Member: { table: "members", key: "subject", links: {} },
  Deal: {
    table: "deals",
    links: { account: ["Account", "account_id"], stage: ["PipelineStage", "stage_id"], owner: ["Member", "owner_id"] },
  },
  Meeting: {
    table: "activities",
    links: { account: ["Account", "account_id"], deal: ["Deal", "deal_id"], contact: ["Contact", "contact_id"] },
  },
};
const LOADED = new Set(["health", "contacts"]);

const kept = new WeakMap();

export const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const fieldsOf = (node) => node.selectionSet.selections;

// The selection of `type` at the end of the path below this field; `t` is the record's own table in statements.
export function selection(type, node, ...path) {
  let found = kept.get(node);
  if (found === undefined) {
    const inner = path.reduce((at, name) => fieldsOf(at).find((field) => field.name.value === name), node);
    kept.set(node, (found = compiled(type, inner)));
  }
  return found;
}

function compiled(type, node) {
  const columns = [];
  const joins = [];
  const at = (column) => `row[${columns.push(column) - 1}]`;
  const object = (type, alias, node) => {
    const { links, key = "id" } = TABLES[type];
    // By its identifier a record is found by the loaders, which also read the fields that are left out here.
    const parts = [`id: ${at(`${alias}.${key}`)}`];
    for (const name of new Set(fieldsOf(node).map((field) => field.name.value))) {
      if (name === "id" || LOADED.has(name)) continue;
      if (!(name in links)) {
        parts.push(`${name}: ${at(`${alias}.${snake(name)}`)}`);
        continue;
      }
      const [target, column] = links[name];
      const joined = `${alias}_${name}`;
      // People are not of one organization: they have a key of their own.
      const { table, key } = TABLES[target];
      const same = key === undefined ? `${joined}.org_id = ${alias}.org_id AND ` : "";
      joins.push(`LEFT JOIN ${table} ${joined} ON ${same}${joined}.${key ?? "id"} = ${alias}.${column}`);
      const field = fieldsOf(node).find((field) => field.name.value === name);
      parts.push(`${name}: ${at(`${joined}.${key ?? "id"}`)} === null ? null : ${object(target, joined, field)}`);
    }
    return `{ ${parts.join(", ")} }`;
  };
  const record = new Function("row", `return ${object(type, "t", node)}`);
  const { table } = TABLES[type];
  return { columns: columns.join(", "), joins: joins.join(" "), table, record, width: columns.length };
}
