// Swagger UI's own way to follow references reads the whole description through a model of OpenAPI 3.1, which takes it
// many seconds for one of this size. All of ours lead within the document, to which a lookup is enough.

/** In place of `fn.resolveSubtree`: what stands at the path of the description, with its references followed. */
export function resolveSubtree(spec, path) {
  const there = path.reduce((value, key) => value?.[key], spec);
  return Promise.resolve({ spec: followed(spec, there, []), errors: [] });
}

/** A reference within what it leads to stays as it is: it would have no end. */
function followed(spec, value, above) {
  if (Array.isArray(value)) return value.map((one) => followed(spec, one, above));
  if (value === null || typeof value !== "object") return value;
  const reference = value.$ref;
  if (typeof reference !== "string") return each(spec, value, above);
  if (above.includes(reference)) return value;
  const there = reference
    .slice(2)
    .split("/")
    .reduce((found, key) => found?.[decodeURIComponent(key).replace(/~1/g, "/").replace(/~0/g, "~")], spec);
  const { $ref, ...beside } = value;
  return { ...followed(spec, there, [...above, $ref]), ...each(spec, beside, above), $$ref: $ref };
}

function each(spec, value, above) {
  return mapped(value, (one) => followed(spec, one, above));
}

/**
 * The description with answers that several operations share in one place: what tells of errors is most of it, and
 * nearly the same everywhere.
 */
export function hoisted(spec) {
  const places = new Map();
  const shared = {};
  const place = ([status, answer]) => {
    if (!/^[45]/.test(status)) return [status, answer];
    const text = JSON.stringify(answer);
    if (!places.has(text)) {
      const name = `${status}-${places.size}`;
      places.set(text, { $ref: `#/components/responses/${name}` });
      shared[name] = answer;
    }
    return [status, places.get(text)];
  };
  const paths = mapped(spec.paths, (methods) =>
    mapped(methods, (operation) => ({
      ...operation,
      responses: Object.fromEntries(Object.entries(operation.responses).map(place)),
    })),
  );
  return { ...spec, paths, components: { ...spec.components, responses: shared } };
}

function mapped(object, change) {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]));
}
