/** A notice for the bar where an answer refuses a field for want of a scope; null where none is refused. */
export function refusalInWords({ errors }) {
  const refused = errors?.find((error) => error.extensions?.code === "FORBIDDEN");
  if (!refused) return null;
  const wanted = refused.extensions.required_scopes ?? [];
  const needed = wanted.length === 1 ? wanted[0] : `one of ${wanted.length} scopes`;
  return { kind: "refused", text: `Not allowed: ${refused.path?.[0] ?? "this"} needs ${needed}` };
}
