// PostgreSQL through a pool; each text is prepared once on each connection, and rows are arrays.
import pg from "pg";

const { TIMESTAMPTZ, DATE } = pg.types.builtins;
pg.types.setTypeParser(TIMESTAMPTZ, (text) => `${text.slice(0, 10)}T${text.slice(11, -3)}Z`); // sessions are in UTC
pg.types.setTypeParser(DATE, (text) => text);

const pool = new pg.Pool({ max: 10, options: "-c timezone=UTC" });
const names = new Map();

export async function rows(text, values) {
  let name = names.get(text);
  if (name === undefined) names.set(text, (name = `s${names.size}`));
  return (await pool.query({ name, text, values, rowMode: "array" })).rows;
}
