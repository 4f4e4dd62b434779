import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import type { App } from "../../app.ts";
import type { HostRequest } from "../../core/http/incoming.ts";
import { isStreamed } from "../../core/http/incoming.ts";
import { createAccount } from "../../resources/accounts/changes.ts";
import type { Database, Store } from "../../store/port.ts";

/** Asks the API of a state. @returns the JSON; `undefined` if there is no such record */
export type Show = (path: string, as?: string) => Promise<unknown>;

/** The request of {@link Show}, from which the application learns who asks. */
interface ViewRequest {
  readonly viewer: string;
}

/** The administrator who looks at a state. */
const VIEWER = `changes-${randomUUID()}`;
/** Records of a page. */
const MOST = 100;

/** Who asks, for the `authenticate` option of the application that shows a state. */
export const viewerOf = (request: HostRequest): string =>
  (request as unknown as ViewRequest).viewer;

/**
 * Looks at a state through the API, as an administrator, and leaves no trace: all of it is one transaction that is taken
 * back.
 *
 * @param open starts an application on a store
 * @param base the address with which links begin
 */
export async function viewing<T>(
  store: Store,
  { open, base, now }: { open: (store: Store) => Promise<App>; base: string; now: number },
  look: (show: Show, db: Database) => Promise<T>,
): Promise<T> {
  let seen: { readonly result: T } | undefined;
  const undone = new Error("taken back");
  const work = async (db: Database) => {
    const user = { username: VIEWER, name: VIEWER, email: `${VIEWER}@example.invalid` };
    const id = await createAccount(db, { id: null, name: VIEWER, ip: "" }, user, now);
    await db.run("update users set admin = 1 where id = ?", [id]);
    const app = await open(within(db));
    try {
      seen = { result: await look(showOf(app, base), db) };
    } finally {
      await app.close();
    }
    throw undone;
  };
  await store.transaction(work).catch((error: unknown) => {
    if (error !== undone) throw error;
  });
  return (seen as { result: T }).result;
}

/** A transaction as a store: what is written in it is part of it. */
function within(db: Database): Store {
  const store: Store = {
    dialect: db.dialect,
    all: (sql, values) => db.all(sql, values),
    rows: (sql, values) => db.rows(sql, values),
    slice: (sql, values, most) => db.slice(sql, values, most),
    each: (sql, lists, most) => db.each(sql, lists, most),
    one: (sql, values) => db.one(sql, values),
    reader: () => store,
    transaction: async (work) => work(db),
    snapshot: async (work) => work(db),
    backup: async () => undefined,
    close: async () => undefined,
  };
  return store;
}

function showOf(app: App, base: string): Show {
  const ask = async (path: string, as: string) => {
    const [name = "", query = ""] = path.split("?", 2);
    const reply = await app.respond({
      ...{ method: "GET", path: `/api/v4${name}`, query, header: () => undefined },
      ...{ body: () => undefined, base, ip: "", ownsRoot: true, isLast: true },
      host: { viewer: as } as unknown as HostRequest,
    });
    if (!reply || reply.status >= 400) {
      if (reply && reply.status >= 500) throw new Error(`GET ${path} answers ${reply.status}`);
      return undefined;
    }
    return { headers: reply.headers, json: JSON.parse(await textOf(reply.body)) as unknown };
  };
  /** Whole lists, which many records are looked up in. */
  const lists = new Map<string, Promise<unknown>>();
  const list = async (path: string, as: string, first: unknown[]) => {
    const all = [...first];
    for (let page = 2, size = first.length; size === MOST; page += 1) {
      const answer = await ask(`${path}&page=${page}`, as);
      const more = (answer?.json ?? []) as unknown[];
      all.push(...more);
      size = more.length;
    }
    return all;
  };
  const show = async (path: string, as: string) => {
    const paged = `${path}${path.includes("?") ? "&" : "?"}per_page=${MOST}`;
    const json = (await ask(paged, as))?.json;
    return Array.isArray(json) ? list(paged, as, json) : json;
  };
  return (path, as = VIEWER) => {
    const key = `${as} ${path}`;
    const known = lists.get(key);
    if (known) return known;
    const shown = show(path, as);
    lists.set(key, shown);
    return shown;
  };
}

async function textOf(
  body: NonNullable<Awaited<ReturnType<App["respond"]>>>["body"],
): Promise<string> {
  if (body === null) return "null";
  if (typeof body === "string") return body;
  if (!isStreamed(body)) return Buffer.from(body).toString("utf8");
  return Buffer.concat(await Readable.from(body.chunks()).toArray()).toString("utf8");
}
