const MANY = 3;

/** A notice for the bar where an answer refuses a field for want of a scope; null where none is refused. */
export function refusalInWords({ errors }) {
  const refused = errors?.find((error) => error.extensions?.code === "FORBIDDEN");
  if (!refused) return null;
  const wanted = refused.extensions.required_scopes ?? [];
  const listed = wanted.slice(0, MANY).join(" or ") + (wanted.length > MANY ? " or the like" : "");
  return { kind: "refused", text: `Not allowed: ${refused.path?.[0] ?? "this"} wants ${listed}` };
}
