import pg from "pg";
import type { Reader, Value } from "../../port.ts";
import { numbered } from "./translated.ts";

/** bigint and numeric as numbers: ids and instants stay far below 2^53. */
export const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: "text" | "binary") =>
    oid === pg.types.builtins.INT8 || oid === pg.types.builtins.NUMERIC
      ? Number
      : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};

/** Stands for a dropped value. */
const CUT = Symbol("cut");

/**
 * {@link types} that drop all rows after the texts have reached `most` characters: the server sends all rows, and pg
 * would hold them in memory.
 */
function cuttingTypes(most: number): pg.CustomTypesConfig {
  let size = 0;
  let isCut = false;
  let last = -1;
  let columns = 0;
  // pg calls it once for each column, in order.
  const getTypeParser = (oid: number, format?: "text" | "binary") => {
    const parse = types.getTypeParser(oid, format) as (text: string) => unknown;
    const column = columns;
    columns += 1;
    return (text: string) => {
      const isNewRow = column <= last;
      last = column;
      if (isNewRow && size >= most) isCut = true;
      if (isCut) return CUT;
      size += text.length;
      return parse(text);
    };
  };
  return { getTypeParser: getTypeParser as typeof pg.types.getTypeParser };
}

/** Sends a query; throws the errors of `port.ts`. */
export type Send = (
  query: pg.QueryConfig & { rowMode?: "array" },
) => Promise<pg.QueryResult<object>>;

/** Reads by sending queries. */
export function reading(send: Send): Reader {
  const all = async <Row extends object>(sql: string, values: readonly Value[] = []) => {
    const { rows } = await send(numbered(sql, values));
    return rows as Row[];
  };
  const cut = async (sql: string, values: readonly Value[], limited: pg.CustomTypesConfig) => {
    const query = { ...numbered(sql, values), types: limited };
    const result = await send({ ...query, rowMode: "array" });
    const rows = result.rows as unknown as Value[][];
    const at = rows.findIndex((row) => (row as unknown[]).includes(CUT));
    return at < 0 ? { rows, more: false } : { rows: rows.slice(0, at), more: true };
  };
  return {
    dialect: "postgres",
    all,
    async one<Row extends object>(sql: string, values?: readonly Value[]) {
      const [first] = await all<Row>(sql, values);
      return first as Readonly<Row> | undefined;
    },
    async rows(sql, values = []) {
      const { rows } = await send({ ...numbered(sql, values), rowMode: "array" });
      return rows as unknown as Value[][];
    },
    slice: (sql, values, most) => cut(sql, values, cuttingTypes(most)),
    each: (sql, lists, most) => {
      const limited = cuttingTypes(most);
      return Promise.all(lists.map((values) => cut(sql, values, limited)));
    },
  };
}
