import { createHash } from "node:crypto";
import { callerOf, USER_COLUMNS, type UserRow } from "../../src/auth/authenticators/user-row.ts";
import { notFound } from "../../src/core/errors.ts";
import * as field from "../../src/core/field.ts";
import type { Authenticator } from "../../src/core/http/authenticator.ts";
import type { Mount } from "../../src/core/http/mount.ts";
import * as param from "../../src/core/input.ts";
import { presenter } from "../../src/core/presenter.ts";
import { Json, RawReply, type Resource, routes } from "../../src/core/resource.ts";
import { insertRow } from "../../src/store/insert.ts";
import type { Migration } from "../../src/store/migrate.ts";
import { updateRow } from "../../src/store/update.ts";

// A mount with every kind of route, to show that the pipeline and all adapters carry them.

const MEBIBYTE = 1024 * 1024;
const TYPE = "application/toy+json";

/** `Authorization: Toy <user name>`. */
const toyName: Authenticator = {
  refusesUnknown: true,
  credential: ({ incoming }) => /^Toy (\S+)$/.exec(incoming.header("authorization") ?? "")?.[1],
  callerOf: async (name, db) => {
    const sql = `select ${USER_COLUMNS} from users u where u.username = ?`;
    const row = await db.one<UserRow>(sql, [name]);
    return row && callerOf(row, ["api"], { kind: "host" });
  },
};

const showError: Mount["showError"] = ({ status, headers, body }) => {
  const [reason] = Object.values(body);
  return new RawReply(
    status,
    { ...headers, "content-type": TYPE },
    JSON.stringify({ toy_error: reason }),
  );
};

/** What happened to streams since the process started. */
const seen = { pulled: 0, ended: 0 };

/** Opened by `GET /gate`; those who wait for it have started. */
let openGate = () => {};
let gate = Promise.resolve();
function closeGate() {
  gate = new Promise((resolve) => {
    openGate = resolve;
  });
}

const migrations: Migration[] = [
  {
    id: "20261122-99-toy",
    sql: `
create table toy_notes (
  id $id,
  text $text not null,
  color $text not null,
  updated_at $int not null
);
`,
  },
];

const note = presenter({
  id: field.integer("n.id"),
  text: field.text("n.text"),
  color: field.text("n.color"),
});

const { get, query, post, patch } = routes();
const octets = { "content-type": "application/octet-stream", "cache-control": "no-store" };

async function digestOf(chunks: AsyncIterable<Uint8Array>) {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    hash.update(chunk);
  }
  return { bytes, sha256: hash.digest("hex") };
}

const kinds = {
  endless: async function* () {
    for (;;) yield Buffer.alloc(64 * 1024, "x");
  },
  broken: async function* () {
    for (let count = 0; count < 10; count += 1) yield Buffer.alloc(64 * 1024, "x");
    throw new Error("the toy's source is broken");
  },
  numbers: async function* () {
    for (let number = 0; number < 100_000; number += 1) yield Buffer.from(`${number}\n`);
  },
  large: async function* () {
    yield Buffer.alloc(5 * MEBIBYTE, "x");
  },
  empty: async function* () {},
} satisfies Record<string, () => AsyncGenerator<Uint8Array>>;

async function* watched(chunks: AsyncIterable<Uint8Array>) {
  try {
    for await (const chunk of chunks) {
      seen.pulled += 1;
      yield chunk;
    }
  } finally {
    seen.ended += 1;
  }
}

/** Sends one piece and then waits for something that never happens. */
function waiting(): AsyncIterableIterator<Uint8Array> {
  let isBegun = false;
  let end = (_: IteratorResult<Uint8Array>) => {};
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    async next() {
      if (isBegun) return new Promise((resolve) => (end = resolve));
      isBegun = true;
      return { done: false, value: Buffer.from("first") };
    },
    async return() {
      seen.ended += 1;
      end({ done: true, value: undefined });
      return { done: true, value: undefined };
    },
  };
}

const toyRoutes = [
  post("/notes", {
    summary: "Add a note",
    input: { text: param.text(), color: param.optional(param.text()) },
    presenter: note,
    handle: async ({ db, input, presenter, now }) => {
      const { text, color = "white" } = input;
      const id = await insertRow(db, "toy_notes", { text, color, updated_at: now });
      return (
        await db.rows(`select ${presenter.columns} from toy_notes n where n.id = ?`, [id])
      )[0];
    },
  }),
  patch("/notes/:note_id", {
    summary: "Change some of a note",
    input: {
      note_id: param.recordId(),
      text: param.optional(param.text()),
      color: param.optional(param.text()),
    },
    atLeastOne: ["text", "color"],
    presenter: note,
    handle: async ({ db, input, presenter, now }) => {
      const { note_id, text, color } = input;
      await updateRow(db, "toy_notes", note_id, { text, color }, now);
      const sql = `select ${presenter.columns} from toy_notes n where n.id = ?`;
      const [changed] = await db.rows(sql, [note_id]);
      if (!changed) throw notFound("Note");
      return changed;
    },
  }),
  query("/notes/search", {
    summary: "Count the notes with one of several texts",
    input: { texts: param.arrayOf(param.text()) },
    examples: [{ count: 1 }],
    handle: async ({ db, input }) => {
      let count = 0;
      for (const text of input.texts) {
        count += (await db.rows("select 1 from toy_notes where text = ?", [text])).length;
      }
      return new Json({ count });
    },
  }),
  post("/notes/slow", {
    summary: "Add a note in a transaction that waits for the gate",
    input: { text: param.text() },
    handle: async ({ db, input, now }) => {
      await insertRow(db, "toy_notes", { text: input.text, color: "grey", updated_at: now });
      await gate;
      return undefined;
    },
  }),
  post("/digest", {
    summary: "Digest a stream",
    input: { slowly: param.optional(param.boolean()) },
    body: "stream",
    maxBodyBytes: 50 * MEBIBYTE,
    prepare: async ({ slowly }, { body }) => {
      async function* paused() {
        for await (const chunk of body) {
          yield chunk;
          if (slowly) await gate;
        }
      }
      return digestOf(paused());
    },
    handle: ({ prepared }) => new Json(prepared),
  }),
  post("/start", {
    summary: "Read the beginning of a stream and ignore the rest",
    body: "stream",
    maxBodyBytes: 50 * MEBIBYTE,
    prepare: async (_, { body }) => {
      for await (const chunk of body) return chunk.length;
      return 0;
    },
    handle: ({ prepared }) => new Json({ isBegun: prepared > 0 }),
  }),
  query("/bytes", {
    summary: "Digest bytes",
    body: "bytes",
    maxBodyBytes: 100_000,
    handle: async ({ body }) =>
      new Json(
        await digestOf(
          (async function* () {
            yield body;
          })(),
        ),
      ),
  }),
  query("/object", {
    summary: "Send an object back, and an attribute of the query",
    input: { color: param.optional(param.text()) },
    body: "object",
    handle: ({ body, input }) => new Json({ body, color: input.color }),
  }),
  query("/echo", {
    summary: "Send a stream back",
    body: "bytes",
    maxBodyBytes: 100_000,
    handle: ({ body }) => new RawReply(200, octets, body),
  }),
  query("/endless", {
    summary: "Send an endless stream after a body",
    handle: () => new RawReply(200, octets, { chunks: () => watched(kinds.endless()) }),
  }),
  get("/streams/:kind", {
    summary: "Send a stream of unknown length",
    access: "anyone",
    input: { kind: param.choice(Object.keys(kinds) as (keyof typeof kinds)[]) },
    handle: ({ input }) =>
      new RawReply(200, octets, { chunks: () => watched(kinds[input.kind]()) }),
  }),
  get("/waiting", {
    summary: "Send a piece and then nothing more",
    access: "anyone",
    handle: () => new RawReply(200, octets, { chunks: waiting }),
  }),
  get("/seen", {
    summary: "Say what happened to streams",
    access: "anyone",
    handle: () => new Json(seen),
  }),
  get("/gate/:state", {
    summary: "Close or open the gate",
    access: "anyone",
    input: { state: param.choice(["open", "closed"]) },
    handle: ({ input }) => {
      if (input.state === "closed") closeGate();
      else openGate();
      return new Json(input.state);
    },
  }),
];

const toyResource: Resource = { name: "Toys", migrations, routes: toyRoutes };

/** What only forms of our own may send. */
const formResource: Resource = {
  name: "Toy forms",
  migrations: [],
  routes: [post("/order", { summary: "Order a toy", handle: () => new Json("ordered") })],
};

/** `/toy/v1`: for programs of any origin. */
export const TOY: Mount = {
  name: "Toy",
  base: "/toy/v1",
  resources: [toyResource],
  authenticators: [toyName],
  allowsOrigins: true,
  bodyBytes: 2000,
  contentType: TYPE,
  showError,
};

/** `/toy/forms`: for people. */
export const TOY_FORMS: Mount = {
  name: "Toy forms",
  base: "/toy/forms",
  resources: [formResource],
  authenticators: [toyName],
  hasForms: true,
  showError,
};
