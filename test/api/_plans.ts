import type { TestApp } from "../helpers.ts";

/**
 * What SQLite does for each query that an application has made, by the statement. Tests should not read what is written
 * afterwards: on Bun, a statement that explains another one stays open, and its connection sees nothing newer.
 */
export async function plansOfQueries(app: TestApp): Promise<{ sql: string; steps: string[] }[]> {
  const plans: { sql: string; steps: string[] }[] = [];
  for (const sql of app.statements.filter((text) => /^\s*select/.test(text))) {
    const rows = await app.store.rows(
      `explain query plan ${sql}`,
      Array.from(sql.matchAll(/\?/g), () => null),
    );
    plans.push({ sql, steps: rows.map((row) => String(row.at(-1))) });
  }
  return plans;
}
