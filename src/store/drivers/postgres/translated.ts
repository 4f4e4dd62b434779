import { forPostgres } from "../../dialects.ts";
import type { Value } from "../../port.ts";
import { StatementCache } from "../../statement-cache.ts";

import type { Numbered } from "./statements.ts";

/** A translated statement. */
interface Translated {
  readonly query: Numbered;
  /** Of how many values each parameter consists; `undefined` if it is one for all of them. */
  readonly sizes: readonly number[] | undefined;
}

const translated = new StatementCache<Translated>(() => undefined);
let names = 0;

/** Translates a statement for PostgreSQL. From its second use on it has a name, so that it is prepared. */
function translate(sql: string): Translated {
  const known = translated.get(sql);
  if (known) {
    if (known.query.name === undefined) {
      names += 1;
      known.query.name = `s${names}`;
    }
    return known;
  }
  const { text, sizes } = forPostgres(sql);
  const statement = {
    query: { text },
    sizes: sizes.some((size) => size > 1) ? sizes : undefined,
  };
  translated.set(sql, statement);
  return statement;
}

/** A statement as it is sent. */
export function numbered(sql: string, values: readonly Value[]): Numbered & { values: unknown[] } {
  const { query, sizes } = translate(sql);
  if (!sizes) return { ...query, values: [...values] };
  let at = 0;
  const parameters = sizes.map((size) => {
    at += size;
    return size === 1 ? values[at - 1] : [...new Set(values.slice(at - size, at))];
  });
  return { ...query, values: parameters };
}
