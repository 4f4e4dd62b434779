import type pg from "pg";
import { MAX_CHARACTERS, MAX_STATEMENTS } from "../../statement-cache.ts";

/** A statement with numbered placeholders, and the name to prepare it under, if it has one. */
export interface Numbered {
  text: string;
  name?: string;
}

interface Prepared {
  names: Set<string>;
  characters: number;
}

/** The prepared statements of each connection; the server keeps them as long as the connection lives. */
const connections = new WeakMap<pg.ClientBase, Prepared>();

/** Adapts a query to a connection: new statements lose their name if the connection can't prepare any more. */
export function prepared<Query extends pg.QueryConfig>(client: pg.ClientBase, query: Query): Query {
  const { name, text } = query;
  if (name === undefined) return query;
  const known = connections.get(client) ?? { names: new Set<string>(), characters: 0 };
  connections.set(client, known);
  if (known.names.has(name)) return query;
  if (isFull(client)) {
    const { name: _, ...unnamed } = query;
    return unnamed as Query;
  }
  known.names.add(name);
  known.characters += text.length;
  return query;
}

/** Whether a connection has prepared the maximum. It is then replaced once it is idle. */
export function isFull(client: pg.ClientBase): boolean {
  const known = connections.get(client);
  if (known === undefined) return false;
  return known.names.size >= MAX_STATEMENTS || known.characters >= MAX_CHARACTERS;
}
