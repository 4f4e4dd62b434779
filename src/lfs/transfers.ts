import { findVisible, mayReadCode } from "../core/access/source.ts";
import { fileReply } from "../core/http/file-reply.ts";
import * as param from "../core/input.ts";
import { type PrepareContext, RawReply, type Route, routes } from "../core/resource.ts";
import { dayOf } from "../core/time.ts";
import { discardFile, storeFile } from "../files/write.ts";
import { isLfsOid } from "../git/pointers.ts";
import { answerableFor, FETCHING, PUSHING } from "../git-http/access.ts";
import { Slots } from "../git-http/slots.ts";
import { SteadyBody } from "../git-http/steady.ts";
import * as objects from "../resources/lfs/objects.ts";
import { LFS_JSON, lfsError, refusal } from "./errors.ts";
import { enter, enterToPush, type Place, requireJson } from "./place.ts";
import { LIFETIME, lfsAuthorization, type Operation } from "./tokens.ts";

/** Objects of one batch. git-lfs asks for a hundred. */
const BATCH = 1000;
/** Objects that a process receives at once. Of each, a mebibyte is in memory. */
const slots = new Slots({ atOnce: 32, ofPerson: 12, ofAddress: 16 });

const OPERATIONS: readonly string[] = ["download", "upload"] satisfies Operation[];

const repository = { repository: param.anyText({ max: 1024 }) };
const named = { ...repository, oid: param.anyText({ max: 256 }) };

/** The routes find out themselves whom they let in: tokens of jobs and deploy tokens among them. */
const fetching = { access: "anyone", scopes: FETCHING } as const;

/** An object as clients name it. */
interface Asked {
  readonly oid: string;
  readonly size: number;
}

/** What is told of an object. */
interface Told extends Asked {
  readonly authenticated?: true;
  readonly actions?: Readonly<Record<string, object>>;
  readonly error?: { readonly code: number; readonly message: string };
}

const isSize = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0;

/** What can be no object. */
function problemOf({ oid, size }: Asked): Told["error"] {
  if (!isLfsOid(oid)) return { code: 422, message: "Object ID must be a SHA-256 in hex" };
  if (!isSize(size)) return { code: 422, message: "Size must be a number of bytes" };
  if (size > objects.OBJECT_BYTES) return { code: 422, message: "Object is too large" };
  return undefined;
}

/** Lets a fork have objects of what it is a fork of, if the caller may read that. @returns the sizes of those it has then */
async function sharedBySource(
  { db, store, now }: PrepareContext,
  { project, caller }: Place,
  oids: readonly string[],
): Promise<Map<string, number>> {
  const [row] = await db.rows("select forked_from_project_id from projects where id = ?", [
    project.id,
  ]);
  const from = row?.[0];
  const source =
    from && oids.length > 0
      ? await findVisible(db, "project", String(from), { caller, today: dayOf(now) })
      : undefined;
  if (!source || !mayReadCode(source)) return new Map();
  const known = await objects.sizesOf(db, source.id, oids);
  const taken = [...known.keys()];
  if (taken.length > 0) {
    await store.transaction(
      (writing) => objects.shareObjects(writing, source.id, project.id, taken, now),
      { shared: true },
    );
  }
  return known;
}

/** The objects of a request. @throws ApiError 404, 413, 422 */
function askedIn(sent: unknown): Asked[] {
  if (!Array.isArray(sent) || sent.length === 0) throw refusal(404);
  if (sent.length > BATCH)
    throw lfsError(413, `At most ${BATCH} objects may be asked for at once.`);
  return sent.map((one) => ({ oid: one?.oid ?? null, size: one?.size ?? null }));
}

/** Tells of each object of a batch where it is transferred. */
async function batch(
  preparing: PrepareContext,
  place: Place,
  operation: Operation,
  { asked, algorithm = "sha256" }: { asked: readonly Asked[]; algorithm?: string | undefined },
): Promise<Told[]> {
  const { db, request, view, viewer } = preparing;
  const { project, caller } = place;
  const valid = asked.filter((one) => problemOf(one) === undefined).map(({ oid }) => oid);
  const oids = [...new Set(valid)];
  const known = await objects.sizesOf(db, project.id, oids);
  if (operation === "upload") {
    const others = oids.filter((oid) => !known.has(oid));
    for (const [oid, size] of await sharedBySource(preparing, place, others)) known.set(oid, size);
  }
  const token = caller && (await lfsAuthorization(preparing, caller, project.id, operation));
  const authorization = token ?? (caller && request.header("authorization"));
  const header = authorization === undefined ? {} : { Authorization: authorization };
  const until = token === undefined ? {} : { expires_in: LIFETIME };
  const nobody = { ...viewer, caller: undefined };
  const ofNobody = await findVisible(db, "project", String(project.id), nobody);
  const isOpen = ofNobody !== undefined && mayReadCode(ofNobody);
  return asked.map(({ oid, size }): Told => {
    if (algorithm !== "sha256") {
      return { oid, size, error: { code: 409, message: "Only sha256 is supported" } };
    }
    const error = problemOf({ oid, size });
    if (error) return { oid, size, error };
    const href = `${view.base}/${project.fullPath}.git/gitlab-lfs/objects/${oid}`;
    const stored = known.get(oid);
    if (operation === "upload") {
      if (stored === size) return { oid, size };
      const type = { "Content-Type": "application/octet-stream" };
      const headers = { ...header, ...type, "Transfer-Encoding": "chunked" };
      return {
        oid,
        size,
        actions: { upload: { href: `${href}/${size}`, header: headers, ...until } },
      };
    }
    if (stored === undefined) {
      const message =
        "Object does not exist on the server or you don't have permissions to access it";
      return { oid, size, error: { code: 404, message } };
    }
    const actions = { download: { href, header, ...until } };
    return { oid, size: stored, ...(isOpen && { authenticated: true }), actions };
  });
}

const mismatch = () => lfsError(400, "SHA256 or size mismatch");

/** What arrives, unless it is more than was said. @throws ApiError 400 as soon as it is */
async function* upTo(size: number, chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let left = size;
  for await (const chunk of chunks) {
    left -= chunk.length;
    if (left < 0) throw mismatch();
    yield chunk;
  }
}

/** The size in an address. @throws ApiError 404, 413 */
function sizeIn(text: string): number {
  if (!/^\d{1,19}$/.test(text)) throw refusal(404);
  const size = Number(text);
  if (size > objects.OBJECT_BYTES) throw lfsError(413, "The object is too large.");
  return size;
}

const { get, post, put } = routes();

/** The routes by which objects of Git LFS are transferred (git-lfs, docs/api/batch.md, basic-transfers.md). */
export const transferRoutes: readonly Route[] = [
  post("/:repository*/info/lfs/objects/batch", {
    summary: "Ask where objects of Git LFS are downloaded or uploaded",
    ...fetching,
    status: 200,
    concurrency: "free",
    input: {
      ...repository,
      operation: param.optional(param.anyText()),
      objects: param.optional(param.json("objects with `oid` and `size`, at most 1,000")),
      hash_algo: param.optional(param.anyText()),
    },
    examples: [
      {
        objects: [
          {
            oid: "4f2f1e4c5d0e3b7a3f9f7b1f6f1c2d3e1b4dd3c9a8a1a0f0e6d9b2f0a3c1c6b6",
            size: 12,
            actions: {
              download: {
                href: "https://git.example.com/acme/site.git/gitlab-lfs/objects/4f2f…",
                header: { Authorization: "Basic …" },
                expires_in: LIFETIME,
              },
            },
          },
        ],
      },
    ],
    prepare: async ({ repository: path, operation, objects: sent, hash_algo }, preparing) => {
      const isKnown = OPERATIONS.includes(operation ?? "");
      const place = await enter(preparing, path, isKnown ? (operation as Operation) : "download");
      requireJson(preparing);
      if (!isKnown) throw lfsError(422, "Operation must be download or upload.");
      const told = await batch(preparing, place, operation as Operation, {
        asked: askedIn(sent),
        algorithm: hash_algo,
      });
      return new RawReply(
        200,
        { "content-type": LFS_JSON, "cache-control": "no-store" },
        JSON.stringify({ objects: told }),
      );
    },
    handle: ({ prepared }) => prepared,
  }),
  get("/:repository*/gitlab-lfs/objects/:oid", {
    answersWith: "application/octet-stream",
    summary: "Download an object of Git LFS, or a part of it",
    ...fetching,
    input: named,
    prepare: ({ repository: path }, preparing) => enter(preparing, path, "download"),
    handle: async ({ db, request, input: { oid }, prepared: { project } }) => {
      const found = isLfsOid(oid) ? await objects.findObject(db, project.id, oid) : undefined;
      if (!found) throw refusal(404);
      return fileReply(db, request, found, {
        "content-type": "application/octet-stream",
        "content-disposition": "attachment",
        "content-security-policy": "default-src 'none'; sandbox",
        "cache-control": "private, max-age=31536000",
      });
    },
  }),
  put("/:repository*/gitlab-lfs/objects/:oid/:size", {
    summary: "Upload an object of Git LFS",
    access: "anyone",
    scopes: PUSHING,
    status: 200,
    concurrency: "free",
    body: "stream",
    maxBodyBytes: objects.OBJECT_BYTES,
    input: { ...named, size: param.anyText({ max: 64 }) },
    prepare: async ({ repository: path, oid, size: text }, preparing) => {
      const { caller, project } = await enterToPush(preparing, path);
      if (!isLfsOid(oid)) throw refusal(404);
      const { db, store, request, now } = preparing;
      const size = sizeIn(text);
      const sent = new SteadyBody(preparing.body);
      await sent.begin();
      const person = await answerableFor(db, caller);
      const end = await slots.take({ person, address: request.ip });
      try {
        const file = await storeFile(store, upTo(size, sent), now);
        try {
          if (file.size !== size || file.sha256 !== oid) throw mismatch();
          await store.transaction(
            async (writing) => {
              // It takes its time to arrive: what counts is what the caller may do now.
              await enterToPush({ ...preparing, db: writing, caller }, path);
              await objects.addObject(writing, project.id, file, now);
            },
            { shared: true },
          );
        } finally {
          // If it was refused, or there is one of this content already.
          await discardFile(store, file.id);
        }
      } finally {
        end();
      }
      return new RawReply(200, { "content-length": "0" });
    },
    handle: ({ prepared }) => prepared,
  }),
];
