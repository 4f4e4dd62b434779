import { ApiError, forbidden } from "../core/errors.ts";
import type { Authenticator } from "../core/http/authenticator.ts";
import type { Mount } from "../core/http/mount.ts";
import { cancellable } from "../core/http/streamed.ts";
import * as param from "../core/input.ts";
import { RawReply, routes } from "../core/resource.ts";
import { Input, pkt } from "../git/pkt-line.ts";
import { advertiseUpload, uploadPack, versionOf } from "../git/upload-pack.ts";
import { admit, FETCHING } from "../git-http/access.ts";
import { gitRoutes } from "../git-http/index.ts";
import { moveMessage } from "../git-http/messages.ts";
import { openServed, projectPath } from "../git-http/repository.ts";
import { enter } from "../lfs/place.ts";
import { LIFETIME, lfsAuthorization } from "../lfs/tokens.ts";
import { Pace } from "../turns/pace.ts";
import { uploadArchive } from "./archive.ts";
import { callerOn } from "./hosts.ts";
import { ownCommands } from "./own.ts";

const MEBIBYTE = 1024 * 1024;
/** What a client may send to say what it has and wants, in all its rounds. */
const NEGOTIATION_BYTES = 64 * MEBIBYTE;

const signedIn: Authenticator = {
  refusesUnknown: true,
  credential: ({ incoming }) => (callerOn(incoming.host) ? "SSH key" : undefined),
  callerOf: (_, _db, { host }) => callerOn(host),
};

/** The header of an answer with what the client shows, percent-encoded. */
export const NOTICE = "x-notice";

/** The path of a repository: that of its project, and `.git`, or `.wiki.git` for the wiki. */
const repository = { repository: param.anyText({ max: 1024 }) };
const fetching = {
  answersWith: "application/octet-stream",
  access: "anyone",
  scopes: FETCHING,
  input: repository,
  body: "stream",
  maxBodyBytes: NEGOTIATION_BYTES,
} as const;

/** An answer whose client is told of what it has sent wrongly. */
async function* told(answer: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* answer;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    yield pkt(`ERR ${Object.values(error.body)[0]}`);
  }
}

/** What git-lfs is told by the program of this name. */
export const LFS_PROGRAM = "git-lfs-authenticate";

const { get, query } = routes();

const commands = [
  query("/:repository*/git-upload-pack", {
    ...fetching,
    summary: "Fetch from a repository over SSH",
    prepare: async ({ repository: path }, preparing) => {
      const admitted = await admit(preparing, projectPath(path), "git-upload-pack");
      const served = await openServed(preparing, admitted);
      const { request, body, view } = preparing;
      const connection = { version: versionOf(request.header("git-protocol")), isStateful: true };
      const { project, movedFrom } = admitted;
      const notice =
        project && movedFrom !== undefined
          ? {
              [NOTICE]: encodeURIComponent(
                moveMessage(movedFrom, project, { remote: view.sshUrl }),
              ),
            }
          : {};
      const pack = async function* (signal: AbortSignal) {
        const pace = new Pace(signal);
        yield* advertiseUpload(served.refs, connection, pace);
        yield* uploadPack(served, new Input(body, pace), connection, signal);
      };
      return new RawReply(
        200,
        notice,
        cancellable((signal) => told(pack(signal))),
      );
    },
    handle: ({ prepared }) => prepared,
  }),
  query("/:repository*/git-upload-archive", {
    ...fetching,
    summary: "Get an archive of a repository over SSH",
    prepare: async ({ repository: path }, preparing) => {
      const admitted = await admit(preparing, projectPath(path), "git-upload-pack");
      const served = await openServed(preparing, admitted);
      const { body } = preparing;
      return new RawReply(
        200,
        {},
        cancellable((signal) =>
          told(uploadArchive(served, new Input(body, new Pace(signal)), signal)),
        ),
      );
    },
    handle: ({ prepared }) => prepared,
  }),
  get(`/:repository*/${LFS_PROGRAM}`, {
    summary:
      "Ask where the objects of Git LFS of a project are, and with what they are transferred",
    access: "anyone",
    scopes: FETCHING,
    input: { ...repository, operation: param.choice(["download", "upload"]) },
    answersWith: "application/json",
    prepare: async ({ repository: path, operation }, preparing) => {
      const { db, secrets, now, view } = preparing;
      const { project, caller } = await enter(preparing, path, operation);
      const header =
        caller && (await lfsAuthorization({ db, secrets, now }, caller, project.id, operation));
      if (header === undefined) throw forbidden("Git LFS can't be used with this key");
      const href = `${view.base}/${project.fullPath}.git/info/lfs`;
      const told = { header: { Authorization: header }, href, expires_in: LIFETIME };
      return new RawReply(200, { "content-type": "application/json" }, JSON.stringify(told));
    },
    handle: ({ prepared }) => prepared,
  }),
];

/** Errors as what the client shows. */
const showError: NonNullable<Mount["showError"]> = ({ status, body }) => {
  const [reason] = Object.values(body);
  return new RawReply(status, { "content-type": "text/plain; charset=utf-8" }, String(reason));
};

const isReplaced = new Set(commands.map(({ path }) => path));

/**
 * The commands of Git over SSH, as requests that only the SSH server can make: `info/refs` and pushes are those of HTTP;
 * to fetch, a client goes on on the same connection.
 */
export const SSH: Mount = {
  name: "Git over SSH",
  base: "",
  owns: () => true,
  unknown: () => new ApiError(404, { message: "404 Not Found" }),
  authenticators: [signedIn],
  countsRequests: true,
  protocol: "ssh",
  showError,
  resources: [
    {
      name: "Git over SSH",
      migrations: [],
      routes: [
        ...gitRoutes.filter(({ path }) => !isReplaced.has(path)),
        ...commands,
        ...ownCommands,
      ],
    },
  ],
};
