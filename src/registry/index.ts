import { bearerOf } from "../auth/request-tokens.ts";
import { fileReply } from "../core/http/file-reply.ts";
import type { Mount } from "../core/http/mount.ts";
import * as param from "../core/input.ts";
import { type Context, type PrepareContext, RawReply, routes } from "../core/resource.ts";
import { Slots } from "../git-http/slots.ts";
import { SteadyBody } from "../git-http/steady.ts";
import type { Action } from "../resources/container-registry/abilities.ts";
import * as blobs from "../resources/container-registry/blobs.ts";
import * as manifests from "../resources/container-registry/manifests.ts";
import {
  isDigest,
  isName,
  isTag,
  pathOf,
  withinProject,
} from "../resources/container-registry/names.ts";
import * as uploads from "../resources/container-registry/uploads.ts";
import type { Reader } from "../store/port.ts";
import { registryError, showError, VERSION } from "./errors.ts";
import { type Claims, readToken, SERVICE } from "./tokens.ts";

/** Blobs that a process receives at once. Of each, a mebibyte is in memory. */
const slots = new Slots({ atOnce: 32, ofPerson: 12, ofAddress: 16 });
/** Tags that one answer has, unless fewer are asked for. */
const TAGS = 1000;

type Asked = Pick<PrepareContext | Context, "db" | "request" | "secrets" | "view" | "now">;

/** Where clients get a token, and for what. */
function challenge(base: string, scope: string | undefined, problem: string | undefined) {
  const parts = [
    `realm="${base}/jwt/auth"`,
    `service="${SERVICE}"`,
    ...(scope === undefined ? [] : [`scope="${scope}"`]),
    ...(problem === undefined ? [] : [`error="${problem}"`]),
  ];
  return { "www-authenticate": `Bearer ${parts.join(",")}` };
}

const unauthorized = ({ view }: Asked, scope?: string, problem?: string) =>
  registryError(
    401,
    "UNAUTHORIZED",
    "authentication required",
    scope === undefined ? {} : { scope },
    challenge(view.base, scope, problem),
  );

/** What the token of a request says. @throws ApiError 401 */
async function requireToken(asked: Asked, scope?: string): Promise<Claims> {
  const { db, request, secrets, now } = asked;
  const token = bearerOf(request.header("authorization"));
  const claims = token && (await readToken(db, secrets, token, now));
  if (!claims) throw unauthorized(asked, scope, token && "invalid_token");
  return claims;
}

/** A repository that a token lets somebody use; `found` is undefined if nothing was pushed to it. */
interface Place {
  readonly name: string;
  readonly own: string;
  readonly projectId: number;
  readonly found: blobs.Repository | undefined;
  readonly claims: Claims;
}

/** Whether a token lets its bearer do something with a repository, which still is in the project it was given for. */
async function placeOf(
  db: Reader,
  claims: Claims,
  name: string,
  action: Action,
): Promise<Place | undefined> {
  const access = claims.access.find(
    (one) => one.name === name && (one.actions.includes(action) || one.actions.includes("*")),
  );
  if (!access) return undefined;
  const projectId = access.meta.project_id;
  const path = await pathOf(db, projectId);
  const own = path === undefined ? undefined : withinProject(name, path);
  if (own === undefined) return undefined;
  return { name, own, projectId, claims, found: await blobs.findRepository(db, projectId, own) };
}

/**
 * Finds the repository that a request names.
 *
 * @throws ApiError 401 unless the token lets its bearer do what the request does
 */
async function enter(asked: Asked, name: string, action: Action): Promise<Place> {
  if (!isName(name)) throw registryError(400, "NAME_INVALID", "invalid repository name");
  const actions = action === "push" ? "pull,push" : action;
  const scope = `repository:${name}:${actions}`;
  const claims = await requireToken(asked, scope);
  const place = await placeOf(asked.db, claims, name, action);
  if (!place) throw unauthorized(asked, scope, "insufficient_scope");
  return place;
}

function requireDigest(digest: unknown): asserts digest is string {
  if (!isDigest(digest)) {
    throw registryError(400, "DIGEST_INVALID", "provided digest did not match uploaded content");
  }
}

const unknownBlob = (digest: string) =>
  registryError(404, "BLOB_UNKNOWN", "blob unknown to registry", { digest });
const unknownManifest = (reference: string) =>
  registryError(404, "MANIFEST_UNKNOWN", "manifest unknown", { reference });

/** The blob of a request. @throws ApiError 404 */
async function requireBlob(db: Reader, { found }: Place, digest: string): Promise<blobs.Blob> {
  requireDigest(digest);
  const blob = found && (await blobs.findBlob(db, found.id, digest));
  if (!blob) throw unknownBlob(digest);
  return blob;
}

/** The manifest of a request. @throws ApiError 404 */
async function requireManifest(db: Reader, { found }: Place, reference: string) {
  const manifest = found && (await manifests.findManifest(db, found.id, reference));
  if (!manifest) throw unknownManifest(reference);
  return manifest;
}

/** The upload of a request. @throws ApiError 404 */
async function requireUpload(db: Reader, { found }: Place, uuid: string, now: number) {
  const upload = found && (await uploads.find(db, found.id, uuid, now));
  if (!found || !upload) {
    throw registryError(404, "BLOB_UPLOAD_UNKNOWN", "blob upload unknown to registry");
  }
  return { repository: found, upload };
}

/** The path of something below `/v2`, with that of the mount: clients resolve it. */
const addressOf = ({ view }: Asked, rest: string) =>
  `${new URL(view.base).pathname.replace(/\/$/, "")}/v2/${rest}`;

const answer = (status: number, headers: Readonly<Record<string, string>> = {}) =>
  new RawReply(status, { ...VERSION, ...headers });

const stored = (asked: Asked, { name }: Place, kind: "blobs" | "manifests", digest: string) =>
  answer(201, {
    location: addressOf(asked, `${name}/${kind}/${digest}`),
    "docker-content-digest": digest,
  });

/** How far an upload has come. */
const progress = (
  asked: Asked,
  { name }: Place,
  { uuid, size }: uploads.BlobUpload,
  status: 202 | 204,
) =>
  answer(status, {
    location: addressOf(asked, `${name}/blobs/uploads/${uuid}`),
    range: `0-${Math.max(0, size - 1)}`,
    "docker-upload-uuid": uuid,
  });

const outOfOrder = (asked: Asked, place: Place, upload: uploads.BlobUpload) =>
  registryError(
    416,
    "BLOB_UPLOAD_INVALID",
    "the content does not begin where the upload ends",
    {},
    { ...progress(asked, place, upload, 202).headers },
  );

/** Adds the body of a request to an upload. @throws ApiError 413, 416 */
async function receive(
  preparing: PrepareContext,
  place: Place,
  upload: uploads.BlobUpload,
): Promise<uploads.BlobUpload> {
  const { request, store } = preparing;
  const range = request.header("content-range");
  const [, from, to] = /^(?:bytes )?(\d+)-(\d+)/.exec(range ?? "") ?? [];
  const length = Number(request.header("content-length") ?? Number.NaN);
  if (range !== undefined) {
    const isNext = Number(from) === upload.size;
    const isWhole = Number.isNaN(length) || Number(to) - Number(from) + 1 === length;
    if (!isNext || !isWhole) throw outOfOrder(preparing, place, upload);
  }
  const room = uploads.BLOB_BYTES - upload.size;
  const limited = async function* () {
    let left = room;
    for await (const chunk of sent) {
      left -= chunk.length;
      if (left < 0) throw registryError(413, "SIZE_INVALID", "the blob is too large");
      yield chunk;
    }
  };
  if (length > room) throw registryError(413, "SIZE_INVALID", "the blob is too large");
  const sent = new SteadyBody(preparing.body as AsyncIterable<Uint8Array>);
  await sent.begin();
  if (sent.isEmpty) return upload;
  const end = await slots.take({ person: place.claims.person, address: request.ip });
  try {
    return await unchanged(
      () => uploads.append(store, upload, limited()),
      preparing,
      place,
      upload,
    );
  } finally {
    end();
  }
}

/** What becomes of an upload unless another request changes it, too. @throws ApiError 416 */
async function unchanged<T>(
  work: () => Promise<T>,
  asked: Asked,
  place: Place,
  upload: uploads.BlobUpload,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof uploads.UploadChanged ? outOfOrder(asked, place, upload) : error;
  }
}

/** Ends an upload with a blob. @throws ApiError 400, 416 */
async function finish(
  preparing: PrepareContext,
  place: Place,
  repository: blobs.Repository,
  upload: uploads.BlobUpload,
  digest: string,
): Promise<RawReply> {
  const { store, now } = preparing;
  const isIt = await unchanged(
    () => uploads.finish(store, repository, upload, digest, now),
    preparing,
    place,
    upload,
  );
  if (isIt) return stored(preparing, place, "blobs", digest);
  throw registryError(400, "DIGEST_INVALID", "provided digest did not match uploaded content");
}

/** A blob that the repository gets from another one that the token lets its bearer read; `undefined` if it can't. */
async function mounted(
  preparing: PrepareContext,
  place: Place,
  digest: string | undefined,
  from: string | undefined,
): Promise<RawReply | undefined> {
  if (!isDigest(digest) || from === undefined) return undefined;
  const { db, store, now } = preparing;
  const other = await placeOf(db, place.claims, from, "pull");
  const blob = other?.found && (await blobs.findBlob(db, other.found.id, digest));
  if (!blob) return undefined;
  await store.transaction(
    async (writing) => {
      const made = await blobs.makeRepository(writing, place.projectId, place.own, now);
      await blobs.linkBlob(writing, made, digest, now);
    },
    { shared: true },
  );
  return stored(preparing, place, "blobs", digest);
}

const { del, get, patch, post, put } = routes();

/** Tokens of the registry are looked at by the routes themselves. */
const open = { access: "anyone" } as const;
const writing = { ...open, concurrency: "free" } as const;
const streaming = {
  ...writing,
  body: "stream",
  maxBodyBytes: uploads.BLOB_BYTES,
} as const;
const binary = { answersWith: "application/octet-stream" } as const;

const repository = { repository: param.anyText({ max: 1024 }) };
const blob = { ...repository, digest: param.anyText({ max: 256 }) };
const upload = { ...repository, upload_id: param.anyText({ max: 64 }) };
const manifest = { ...repository, reference: param.anyText({ max: 256 }) };

const registryRoutes = [
  get("", {
    summary: "Check that a token of the container registry is valid",
    ...open,
    examples: [{}],
    handle: async (context) => {
      await requireToken(context);
      return new RawReply(200, { ...VERSION, "content-type": "application/json" }, "{}");
    },
  }),
  get("/:repository*/blobs/:digest", {
    summary: "Pull a blob of a container image",
    ...open,
    ...binary,
    input: blob,
    handle: async (context) => {
      const { db, request, input } = context;
      const place = await enter(context, input.repository, "pull");
      const found = await requireBlob(db, place, input.digest);
      return fileReply(db, request, found, {
        ...VERSION,
        "content-type": "application/octet-stream",
        "docker-content-digest": input.digest,
        "content-security-policy": "default-src 'none'; sandbox",
        "cache-control": "private, max-age=31536000",
      });
    },
  }),
  del("/:repository*/blobs/:digest", {
    summary: "Take a blob away from a repository of container images",
    ...writing,
    input: blob,
    status: 202,
    handle: async (context) => {
      const { db, input } = context;
      const place = await enter(context, input.repository, "delete");
      db.lock(place.projectId);
      const found = await requireBlob(db, place, input.digest);
      if (await blobs.isBlobUsed(db, found.link)) {
        throw registryError(405, "UNSUPPORTED", "a manifest needs the blob");
      }
      await blobs.unlinkBlob(db, found.link);
      return answer(202);
    },
  }),
  post("/:repository*/blobs/uploads", {
    summary: "Begin to push a blob, push it as a whole, or take it from another repository",
    ...streaming,
    input: {
      ...repository,
      digest: param.optional(param.anyText({ max: 256 })),
      mount: param.optional(param.anyText({ max: 256 })),
      from: param.optional(param.anyText({ max: 1024 })),
    },
    status: 202,
    prepare: async ({ repository: name, digest, mount, from }, preparing) => {
      const { db, store, now } = preparing;
      const place = await enter(preparing, name, "push");
      const taken = await mounted(preparing, place, mount, from);
      if (taken) return taken;
      if (digest !== undefined) requireDigest(digest);
      const { person } = place.claims;
      if ((await uploads.countOpen(db, person, now)) >= uploads.OPEN_UPLOADS) {
        throw registryError(429, "TOOMANYREQUESTS", "too many uploads are open");
      }
      const { made, begun } = await store.transaction(
        async (db) => {
          const made = await blobs.makeRepository(db, place.projectId, place.own, now);
          return { made, begun: await uploads.begin(db, made, person, now) };
        },
        { shared: true },
      );
      if (digest === undefined) return progress(preparing, place, begun, 202);
      const received = await receive(preparing, place, begun);
      return finish(preparing, place, made, received, digest);
    },
    handle: ({ prepared }) => prepared,
  }),
  get("/:repository*/blobs/uploads/:upload_id", {
    summary: "Get how much of a blob has been pushed",
    ...open,
    input: upload,
    status: 204,
    handle: async (context) => {
      const { db, input, now } = context;
      const place = await enter(context, input.repository, "push");
      const found = await requireUpload(db, place, input.upload_id, now);
      return progress(context, place, found.upload, 204);
    },
  }),
  patch("/:repository*/blobs/uploads/:upload_id", {
    summary: "Push a part of a blob",
    ...streaming,
    input: upload,
    status: 202,
    prepare: async ({ repository: name, upload_id: uuid }, preparing) => {
      const place = await enter(preparing, name, "push");
      const { upload } = await requireUpload(preparing.db, place, uuid, preparing.now);
      return progress(preparing, place, await receive(preparing, place, upload), 202);
    },
    handle: ({ prepared }) => prepared,
  }),
  put("/:repository*/blobs/uploads/:upload_id", {
    summary: "End the push of a blob, with its last part or none",
    ...streaming,
    input: { ...upload, digest: param.optional(param.anyText({ max: 256 })) },
    status: 201,
    prepare: async ({ repository: name, upload_id: uuid, digest }, preparing) => {
      const place = await enter(preparing, name, "push");
      const found = await requireUpload(preparing.db, place, uuid, preparing.now);
      requireDigest(digest);
      const whole = await receive(preparing, place, found.upload);
      return finish(preparing, place, found.repository, whole, digest);
    },
    handle: ({ prepared }) => prepared,
  }),
  del("/:repository*/blobs/uploads/:upload_id", {
    summary: "Cancel the push of a blob",
    ...writing,
    input: upload,
    prepare: async ({ repository: name, upload_id: uuid }, preparing) => {
      const place = await enter(preparing, name, "push");
      const { upload } = await requireUpload(preparing.db, place, uuid, preparing.now);
      await uploads.cancel(preparing.store, upload);
      return answer(204);
    },
    handle: ({ prepared }) => prepared,
  }),
  get("/:repository*/manifests/:reference", {
    summary: "Pull the manifest of a container image, by a tag or its digest",
    ...open,
    ...binary,
    input: manifest,
    handle: async (context) => {
      const { db, input } = context;
      const place = await enter(context, input.repository, "pull");
      const found = await requireManifest(db, place, input.reference);
      const headers = {
        ...VERSION,
        "content-type": found.media_type,
        // Clients ask for it without the content.
        "content-length": String(found.size),
        "docker-content-digest": found.digest,
        "content-security-policy": "default-src 'none'; sandbox",
        etag: `"${found.digest}"`,
      };
      return new RawReply(200, headers, await manifests.contentOf(db, found));
    },
  }),
  put("/:repository*/manifests/:reference", {
    summary: "Push the manifest of a container image, under a tag or its digest",
    ...writing,
    input: manifest,
    // Not as bytes: these would be read before anybody has asked for a token.
    body: "stream",
    maxBodyBytes: manifests.MANIFEST_BYTES,
    status: 201,
    prepare: async ({ repository: name }, preparing) => {
      const place = await enter(preparing, name, "push");
      const sent: Uint8Array[] = [];
      for await (const chunk of new SteadyBody(preparing.body)) sent.push(chunk);
      return { place, body: Buffer.concat(sent) };
    },
    handle: async (context) => {
      const { db, input, now, prepared, request } = context;
      const { place, body } = prepared;
      const { reference } = input;
      const isByDigest = reference.includes(":");
      if (!isByDigest && !isTag(reference)) {
        throw registryError(400, "TAG_INVALID", "manifest tag did not match URI");
      }
      const digest = manifests.digestOf(body, isDigest(reference) ? reference : undefined);
      if (isByDigest && digest !== reference) {
        throw registryError(
          400,
          "DIGEST_INVALID",
          "provided digest did not match uploaded content",
        );
      }
      const type = request.header("content-type")?.split(";")[0]?.trim() ?? "";
      db.lock(place.projectId);
      try {
        const read = manifests.readManifest(body, type);
        const made = await blobs.makeRepository(db, place.projectId, place.own, now);
        const id = await manifests.putManifest(db, made, { digest, bytes: body }, read, now);
        if (!isByDigest) await manifests.putTag(db, made, reference, id, now);
        const reply = stored(context, place, "manifests", digest);
        if (read.subject === null) return reply;
        return answer(201, { ...reply.headers, "oci-subject": read.subject });
      } catch (error) {
        if (!(error instanceof manifests.ManifestError)) throw error;
        const detail = error.digest === undefined ? error.message : { digest: error.digest };
        throw registryError(400, error.code, error.message, detail);
      }
    },
  }),
  del("/:repository*/manifests/:reference", {
    summary: "Delete a tag, or a manifest with its tags",
    ...writing,
    input: manifest,
    status: 202,
    handle: async (context) => {
      const { db, input } = context;
      const place = await enter(context, input.repository, "delete");
      db.lock(place.projectId);
      const found = await requireManifest(db, place, input.reference);
      if (isDigest(input.reference)) {
        if (await manifests.isChild(db, found)) {
          throw registryError(409, "MANIFEST_REFERENCED", "manifest referenced by a manifest list");
        }
        await manifests.deleteManifest(db, found);
      } else {
        const { id } = place.found as blobs.Repository;
        await manifests.deleteTag(db, id, input.reference);
      }
      return answer(202);
    },
  }),
  get("/:repository*/tags/list", {
    summary: "List the tags of a repository of container images, by name",
    ...open,
    input: {
      ...repository,
      n: param.optional(param.integer({ min: 0 })),
      last: param.optional(param.anyText({ max: 256 })),
    },
    examples: [{ name: "acme/site", tags: ["1.0", "latest"] }],
    handle: async (context) => {
      const { db, input } = context;
      const { found, name } = await enter(context, input.repository, "pull");
      if (!found) throw registryError(404, "NAME_UNKNOWN", "repository name not known to registry");
      const most = Math.min(input.n ?? TAGS, TAGS);
      const all = await manifests.tagsAfter(db, found.id, input.last ?? "", most);
      const tags = all.slice(0, most);
      const last = tags.at(-1);
      const next =
        last !== undefined && all.length > most
          ? `${name}/tags/list?n=${most}&last=${encodeURIComponent(last)}`
          : undefined;
      return listed(context, { name, tags }, "application/json", next);
    },
  }),
  get("/:repository*/referrers/:digest", {
    summary: "List the manifests that have another one as their subject, such as its signatures",
    ...open,
    input: {
      ...blob,
      artifactType: param.optional(param.anyText({ max: 256 })),
      last: param.optional(param.integer({ min: 0 })),
    },
    examples: [{ schemaVersion: 2, mediaType: manifests.INDEX, manifests: [] }],
    handle: async (context) => {
      const { db, input } = context;
      const { found, name } = await enter(context, input.repository, "pull");
      const { artifactType: type, digest, last = 0 } = input;
      requireDigest(digest);
      const page = found
        ? await manifests.referrersOf(db, found.id, digest, type, last)
        : { found: [], next: undefined };
      const filter = type === undefined ? "" : `artifactType=${encodeURIComponent(type)}&`;
      const next =
        page.next === undefined
          ? undefined
          : `${name}/referrers/${digest}?${filter}last=${page.next}`;
      const index = { schemaVersion: 2, mediaType: manifests.INDEX, manifests: page.found };
      const reply = listed(context, index, manifests.INDEX, next);
      const applied = { "oci-filters-applied": "artifactType" };
      return type === undefined
        ? reply
        : new RawReply(200, { ...reply.headers, ...applied }, reply.body);
    },
  }),
];

/** A part of a list, and where the next one is. */
function listed(asked: Asked, value: object, type: string, next: string | undefined): RawReply {
  const link = next === undefined ? {} : { link: `<${addressOf(asked, next)}>; rel="next"` };
  return new RawReply(200, { ...VERSION, "content-type": type, ...link }, JSON.stringify(value));
}

/** The container registry (OCI distribution 1.1): `/v2/`. Other paths below it are the embedding application's. */
export const REGISTRY: Mount = {
  name: "Container images",
  base: "/v2",
  owns: (path) => /^\/v2(\/|\/.+\/(blobs|manifests|tags|referrers)\/.*)?$/.test(path),
  authenticators: [],
  countsRequests: true,
  showError,
  resources: [{ name: "Container images", migrations: [], routes: registryRoutes }],
};
