import { tokensAsPasswords } from "../auth/authenticators/basic.ts";
import { SESSION_SCOPES } from "../auth/authenticators/user-row.ts";
import type { Caller } from "../core/access/caller.ts";
import type { Source } from "../core/access/source.ts";
import { ApiError } from "../core/errors.ts";
import type { Bytes } from "../core/http/incoming.ts";
import type { Mount } from "../core/http/mount.ts";
import { cancellable } from "../core/http/streamed.ts";
import * as param from "../core/input.ts";
import { AfterRoutes, type PrepareContext, RawReply, routes } from "../core/resource.ts";
import { dayOf } from "../core/time.ts";
import { RefusedError } from "../git/errors.ts";
import { LIMITS } from "../git/limits.ts";
import { Packs } from "../git/packs.ts";
import { FLUSH, Input, packetsOf, pkt } from "../git/pkt-line.ts";
import { advertiseReceive, type ReceivedPush, receivePush, reportOf } from "../git/receive-pack.ts";
import { Shown } from "../git/shown.ts";
import { migrations } from "../git/table.ts";
import { advertiseUpload, uploadPack, versionOf } from "../git/upload-pack.ts";
import { mostPushBytes } from "../resources/application-settings/sizes.ts";
import { isAboutRequests, requestsByPush } from "../resources/merge-requests/by-push.ts";
import { openRecord } from "../resources/repositories/open.ts";
import { apply, type Received, receive } from "../resources/repositories/pushes.ts";
import { applyToWiki, receiveWiki, type WikiPush } from "../resources/wikis/pushes.ts";
import type { Reader, Store } from "../store/port.ts";
import {
  type Admitted,
  admit,
  answerableFor,
  denied,
  FETCHING,
  identify,
  makeHome,
  PUSHING,
  readmitToWiki,
  SERVICES,
  type Service,
} from "./access.ts";
import { bounded } from "./bounded.ts";
import { createByPush } from "./creation.ts";
import { messagesOf, pushedBranches, warningsOf } from "./messages.ts";
import { findRepository, openServed, projectPath } from "./repository.ts";
import { Slots } from "./slots.ts";
import { SteadyBody } from "./steady.ts";

const MEBIBYTE = 1024 * 1024;
/** What a client may send to say what it has and wants. */
const NEGOTIATION_BYTES = 10 * MEBIBYTE;

const UNCACHED = {
  "cache-control": "no-cache, max-age=0, must-revalidate",
  pragma: "no-cache",
  expires: "Fri, 01 Jan 1980 00:00:00 GMT",
};

/** The path of a repository: that of its project, and `.git`, or `.wiki.git` for the wiki. */
const repository = { repository: param.anyText({ max: 1024 }) };

const fetching = { access: "anyone", scopes: FETCHING } as const;

const { get, post, query } = routes();

const slots = new Slots();

/** A push of a Git client, with all that is needed to apply it. */
type ReceivedByGit =
  | (Received<ReceivedPush> & {
      readonly kind: "code";
      readonly project: Source;
      readonly store: Store;
      /** Whether the push has created the project. */
      readonly isNew: boolean;
      readonly movedFrom: Admitted["movedFrom"];
    })
  | (WikiPush<ReceivedPush> & {
      readonly kind: "wiki";
      readonly project: Source;
      readonly caller: Caller;
    });

/** Refuses bodies that pages of other sites could make a browser send, with the user's credentials. */
function requireType({ request }: PrepareContext, path: string, service: Service): void {
  // Only the address with the ending is the repository's.
  if (!path.endsWith(".git")) throw new ApiError(404, { message: "404 Not Found" });
  if (request.header("content-type") !== `application/x-${service}-request`) {
    throw new ApiError(415, { message: "Unsupported Media Type" });
  }
}

/** Turns what Git sent wrongly into an answer. */
async function understood<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    throw error instanceof RefusedError ? new ApiError(400, { message: error.message }) : error;
  }
}

/** How clients are connected: each of their requests is whole. */
const connectionOf = ({ request }: PrepareContext) => ({
  version: versionOf(request.header("git-protocol")),
  isStateful: false,
});

const resultOf = (service: Service, body: Bytes | Buffer) =>
  new RawReply(200, { "content-type": `application/x-${service}-result`, ...UNCACHED }, body);

/** What an answer to `info/refs` begins with. */
export function headOf(service: Service): Buffer {
  return pkt(`# service=${service}`, FLUSH);
}

/** The routes of Git over HTTP: `info/refs`, fetching and pushing. */
export const gitRoutes = [
  get("/:repository*/info/refs", {
    answersWith: "application/octet-stream",
    summary: "What a Git client is told first: the references of a repository",
    ...fetching,
    input: { ...repository, service: param.optional(param.anyText()) },
    prepare: async ({ repository: path, service: asked }, preparing) => {
      const { request } = preparing;
      if (request.method === "HEAD") throw new ApiError(403, { message: "403 Forbidden" });
      const service = SERVICES.find((name) => name === asked);
      if (!path.endsWith(".git")) {
        const location = `${request.base}/${encodeURI(path)}.git/info/refs?${request.query}`;
        return new RawReply(301, { location });
      }
      if (!service) {
        // What clients from before smart HTTP ask for.
        if (!(await identify(preparing))) throw denied();
        throw new ApiError(403, { message: "Please upgrade your git client." });
      }
      const admitted = await admit(preparing, projectPath(path), service);
      const { refs } = await findRepository(preparing, admitted, service);
      const connection = connectionOf(preparing);
      const advertise = service === "git-upload-pack" ? advertiseUpload : advertiseReceive;
      const parts: Buffer[] = [headOf(service)];
      for await (const part of advertise(refs, connection, preparing.budget)) parts.push(part);
      const headers = { "content-type": `application/x-${service}-advertisement`, ...UNCACHED };
      return new RawReply(200, headers, Buffer.concat(parts));
    },
    handle: ({ prepared }) => prepared,
  }),
  query("/:repository*/git-upload-pack", {
    answersWith: "application/octet-stream",
    summary: "Fetch from a repository, with a Git client",
    ...fetching,
    input: repository,
    body: "stream",
    maxBodyBytes: NEGOTIATION_BYTES,
    prepare: async ({ repository: path }, preparing) => {
      requireType(preparing, path, "git-upload-pack");
      const admitted = await admit(preparing, projectPath(path), "git-upload-pack");
      const packets = packetsOf(
        await understood(new Input(preparing.body, preparing.budget).packets()),
      );
      const served = await openServed(preparing, admitted);
      const connection = connectionOf(preparing);
      return resultOf(
        "git-upload-pack",
        cancellable((signal) => uploadPack(served, packets, connection, signal)),
      );
    },
    handle: ({ prepared }) => prepared,
  }),
  post("/:repository*/git-receive-pack", {
    answersWith: "application/octet-stream",
    summary: "Push to a repository, with a Git client",
    access: "anyone",
    scopes: PUSHING,
    status: 200,
    input: repository,
    body: "stream",
    maxBodyBytes: LIMITS.packBytes + NEGOTIATION_BYTES,
    concurrency: "free",
    prepare: async ({ repository: path }, preparing): Promise<ReceivedByGit | undefined> => {
      requireType(preparing, path, "git-receive-pack");
      const admitted = await admit(preparing, projectPath(path), "git-receive-pack");
      const { caller, project, kind, movedFrom } = admitted;
      if (!caller) throw denied();
      const { store, now, body, view, budget } = preparing;
      const sent = new SteadyBody(body);
      await sent.begin();
      const person = await answerableFor(preparing.db, caller);
      const end = await slots.take({ person, address: preparing.request.ip });
      try {
        const { row, refs } = await findRepository(preparing, admitted, "git-receive-pack");
        const opened = await openRecord(store, row);
        const before = {
          repository: opened,
          version: row?.version ?? 0,
          shown: new Shown(store.reader(), opened, row),
        };
        const most = await mostPushBytes(preparing.db);
        const input = new Input(most === undefined ? sent : bounded(sent, most), budget);
        const push = await understood(receivePush(input, before, Packs.of(store), now, budget));
        if (!push) return undefined;
        if (project && kind === "wiki") {
          const place = project.id === 0 ? await makeHome(store, project, now) : project;
          return { kind, ...(await receiveWiki(push, refs)), caller, project: place };
        }
        const pusher = { caller, via: "push" } as const;
        const target = { row, head: refs.head, base: view.base, pusher };
        const received = {
          kind: "code" as const,
          store,
          ...(await receive(store, push, project?.id, target, budget)),
        };
        if (project) return { ...received, caller, project, isNew: false, movedFrom };
        const created = await createByPush(store, projectPath(path), { caller, now });
        return { ...received, caller, project: created, isNew: true, movedFrom };
      } finally {
        end();
      }
    },
    handle: async ({ db, prepared, view, now, budget }) => {
      if (!prepared) return resultOf("git-receive-pack", Buffer.alloc(0));
      if (prepared.kind === "wiki") {
        await readmitToWiki(db, prepared.project, prepared.caller, now);
        const { outcomes, refusal } = await applyToWiki(db, prepared.project, prepared, {
          userId: prepared.caller.id,
          now,
        });
        const { options = [] } = prepared.push;
        const errors = isAboutRequests(options)
          ? ["Push options are only supported for projects"]
          : [];
        const messages =
          refusal === undefined ? warningsOf(options, errors) : [`GitLab: ${refusal}`];
        return resultOf("git-receive-pack", reportOf(prepared.push, outcomes, messages));
      }
      const applied = await apply(db, prepared, "push", now, budget);
      const { base } = view;
      const isBySsh = prepared.caller.by.kind === "key";
      const remote = (path: string) => (isBySsh ? view.sshUrl(path) : `${base}/${path}.git`);
      const answer = async (reader: Reader, warnings: readonly string[] = []) => {
        const messages = await messagesOf(reader, prepared, applied, { base, remote });
        const report = reportOf(prepared.push, applied.outcomes, [...messages, ...warnings]);
        return resultOf("git-receive-pack", report);
      };
      const { options = [] } = prepared.push;
      if (options.length === 0 || applied.refusal !== undefined) return answer(db);
      // What options ask for is done for whoever may push, whatever else their token is for.
      const caller = { ...prepared.caller, scopes: SESSION_SCOPES };
      return new AfterRoutes(async (runner) => {
        const branches = new Map(pushedBranches(applied.outcomes));
        const pushed = { ...prepared, viewer: { caller, today: dayOf(now) }, branches };
        const errors = await requestsByPush(runner, pushed, options);
        return answer(runner.reader(), warningsOf(options, errors));
      }, caller);
    },
  }),
];

/** Errors as plain text, which Git shows. */
const showError: NonNullable<Mount["showError"]> = ({ status, headers, body }, { request }) => {
  const [reason] = Object.values(body);
  const word = request.path.endsWith("git-receive-pack") ? "upload" : "download";
  const text =
    status === 401
      ? "HTTP Basic: Access denied"
      : reason === "insufficient_scope"
        ? `You are not allowed to ${word} code.`
        : String(reason);
  const challenge = status === 401 ? { "www-authenticate": 'Basic realm="GitLab"' } : {};
  const type = { "content-type": "text/plain; charset=utf-8" };
  return new RawReply(status, { ...headers, ...challenge, ...type }, `${text}\n`);
};

/** Git over HTTP (gitprotocol-http(5)): `/<path of a project>.git`, and `.wiki.git` for its wiki or that of a group. */
export const GIT: Mount = {
  name: "Git",
  base: "",
  owns: (path) => /^\/.+\/(info\/refs|git-upload-pack|git-receive-pack)$/.test(path),
  authenticators: tokensAsPasswords,
  countsRequests: true,
  showError,
  resources: [{ name: "Git over HTTP", migrations, routes: gitRoutes }],
};
