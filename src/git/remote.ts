import type { IncomingMessage } from "node:http";
import { type OutgoingRequest, send } from "../outgoing/request.ts";
import type { Pace } from "../turns/pace.ts";
import { RefusedError } from "./errors.ts";
import { ERROR_BAND, FLUSH, Input, PACK_BAND, pkt } from "./pkt-line.ts";

/** A push to another server, or a fetch from it, failed. The message is for those who set it up, and has no secrets. */
export class RemoteError extends Error {
  override get name() {
    return "RemoteError" as const;
  }
}

/** A repository on another server, by its address with credentials. */
export type Remote = Pick<OutgoingRequest, "url" | "allowLocal">;

/** The references of a {@link Remote}. */
export interface RemoteRefs {
  /** Where its services are: a redirect may have led elsewhere on the same host. */
  readonly remote: Remote;
  /** Names of objects, in hex, by the full names of references. */
  readonly refs: ReadonlyMap<string, string>;
  readonly capabilities: ReadonlySet<string>;
  /** The full name of its default branch, if it says that. */
  readonly head: string | undefined;
}

/** A change of a reference of a remote; without `to`, its removal. */
export interface RemoteChange {
  readonly name: string;
  readonly from: string | undefined;
  readonly to: string | undefined;
}

/** What a remote is asked for: it takes pushes, or gives what is fetched. */
type Service = "git-receive-pack" | "git-upload-pack";

const NO_OBJECT = "0".repeat(40);
/** Some servers answer only clients that call themselves so. */
const HEADERS = { "user-agent": "git/2.39 (pm-api)" };
const MOST_REDIRECTS = 3;
const MOST_REFS = 100_000;
/** Bytes of an answer that are read. */
const MOST_BYTES = 64 * 1024 * 1024;
const REDIRECTED = [301, 302, 303, 307, 308];

/**
 * Asks for the references of a remote before a push.
 *
 * @param signal ends it early
 * @throws RemoteError if there is no such repository, or it can't be pushed to; ForbiddenAddress, UnknownHost, Error if it
 * can't be reached
 */
export async function listForPush(
  remote: Remote,
  signal: AbortSignal,
  pace: Pace,
): Promise<RemoteRefs> {
  const listed = await listRemote(remote, "git-receive-pack", signal, pace);
  if (!listed.capabilities.has("report-status")) {
    throw new RemoteError("the server does not report what became of a push");
  }
  return listed;
}

/**
 * Asks for the references of a remote before a fetch.
 *
 * @param signal ends it early
 * @throws RemoteError if there is no such repository, or it can't be fetched from; ForbiddenAddress, UnknownHost, Error if
 * it can't be reached
 */
export async function listForFetch(
  remote: Remote,
  signal: AbortSignal,
  pace: Pace,
): Promise<RemoteRefs> {
  const listed = await listRemote(remote, "git-upload-pack", signal, pace);
  if (listed.refs.size > 0 && !listed.capabilities.has("side-band-64k")) {
    throw new RemoteError("the server speaks a version of Git's protocol that is too old");
  }
  return listed;
}

/** Asks for the references of a remote (gitprotocol-http(5)), in version 0 of the protocol. */
async function listRemote(
  remote: Remote,
  service: Service,
  signal: AbortSignal,
  pace: Pace,
): Promise<RemoteRefs> {
  let url = below(remote.url, `/info/refs?service=${service}`);
  for (let followed = 0; followed <= MOST_REDIRECTS; followed += 1) {
    const request = { url, method: "GET", headers: HEADERS, verifies: true } as const;
    const answer = await send({ ...request, allowLocal: remote.allowLocal }, signal);
    const { statusCode = 0, headers } = answer;
    if (!REDIRECTED.includes(statusCode)) {
      requireAnswer(answer, `application/x-${service}-advertisement`);
      const base = new URL(url);
      base.pathname = base.pathname.slice(0, -"/info/refs".length);
      base.search = "";
      return { remote: { ...remote, url: base }, ...(await readList(answer, pace)) };
    }
    answer.destroy();
    url = redirected(url, headers.location);
  }
  throw new RemoteError("there are too many redirects");
}

/** A service of a repository. */
function below({ href }: URL, path: string): URL {
  const url = new URL(href);
  const [pathname = "", search = ""] = path.split("?");
  url.pathname = url.pathname.replace(/\/$/, "") + pathname;
  url.search = search;
  return url;
}

/**
 * Where a redirect leads to, with the same credentials: only to the same host, so that no other gets these, and there not to
 * the ports of other services, which no address may name.
 */
function redirected(from: URL, location: string | undefined): URL {
  const to = URL.canParse(location ?? "", from) ? new URL(location ?? "", from) : undefined;
  if (!to || !/^https?:$/.test(to.protocol) || !to.pathname.endsWith("/info/refs")) {
    throw new RemoteError("the redirect leads to no repository");
  }
  if (to.hostname !== from.hostname || (from.protocol === "https:" && to.protocol === "http:")) {
    throw new RemoteError("the redirect leads to another host");
  }
  if (to.port !== from.port && to.port !== "" && Number(to.port) < 1024) {
    throw new RemoteError("the redirect leads to another service");
  }
  to.username = from.username;
  to.password = from.password;
  return to;
}

/** @throws RemoteError unless an answer is one of Git */
function requireAnswer(answer: IncomingMessage, type: string): void {
  const { statusCode = 0, headers } = answer;
  const problem =
    statusCode === 401 || statusCode === 403
      ? "the credentials are refused"
      : statusCode === 404
        ? "there is no such repository, or it is not shown to these credentials"
        : statusCode !== 200
          ? `the answer has the status ${statusCode}`
          : headers["content-type"] !== type
            ? "the answer is none of a Git repository"
            : undefined;
  if (problem === undefined) return;
  answer.destroy();
  throw new RemoteError(problem);
}

/** Reads an answer in packets. @throws RemoteError if it is too long, or is not made of packets */
async function* packetsOf(answer: IncomingMessage, pace: Pace) {
  for await (const packet of bytePacketsOf(answer, MOST_BYTES, pace)) {
    yield typeof packet === "number" ? packet : packet.toString().replace(/\n$/, "");
  }
}

/** The same as bytes, of an answer that may have so many. */
async function* bytePacketsOf(answer: IncomingMessage, most: number, pace: Pace) {
  async function* bounded() {
    let length = 0;
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > most) throw new RemoteError("the answer is too long");
      yield chunk;
    }
  }
  const input = new Input(bounded(), pace);
  try {
    for (let next = await input.bytePacket(); next !== undefined; next = await input.bytePacket()) {
      yield next;
    }
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    throw new RemoteError("the answer is none of a Git repository", { cause: error });
  } finally {
    answer.destroy();
  }
}

async function readList(answer: IncomingMessage, pace: Pace): Promise<Omit<RemoteRefs, "remote">> {
  const refs = new Map<string, string>();
  let capabilities: ReadonlySet<string> | undefined;
  for await (const packet of packetsOf(answer, pace)) {
    if (typeof packet === "number" || packet.startsWith("# ")) continue;
    if (packet.startsWith("shallow ")) throw new RemoteError("its history is not complete there");
    const [line = "", after = ""] = packet.split("\0");
    const [, oid = "", name = ""] = /^([0-9a-f]{40}) (.+)$/.exec(line) ?? [];
    if (oid === "") throw new RemoteError("the answer is none of a Git repository");
    capabilities ??= new Set(after.trim().split(" "));
    // What a tag stands for is listed besides.
    if (name.startsWith("refs/") && !name.endsWith("^{}")) refs.set(name, oid);
    if (refs.size > MOST_REFS) throw new RemoteError(`there are more than ${MOST_REFS} references`);
  }
  const known = capabilities ?? new Set<string>();
  const [symref] = [...known].filter((name) => name.startsWith(HEAD_IS));
  return { refs, capabilities: known, head: symref?.slice(HEAD_IS.length) };
}

/** How a remote says which branch is its default one. */
const HEAD_IS = "symref=HEAD:";

/** Sends a request to a service of a remote. @throws RemoteError unless the answer is one of Git */
async function ask(
  remote: Remote,
  service: Service,
  body: NonNullable<OutgoingRequest["body"]>,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const headers = {
    ...HEADERS,
    "content-type": `application/x-${service}-request`,
    accept: `application/x-${service}-result`,
  };
  const url = below(remote.url, `/${service}`);
  const request = { url, method: "POST", headers, body, verifies: true } as const;
  const answer = await send({ ...request, allowLocal: remote.allowLocal }, signal);
  requireAnswer(answer, `application/x-${service}-result`);
  return answer;
}

/**
 * Pushes to a remote.
 *
 * @param pack the objects that it lacks; `undefined` if there are only removals
 * @param signal ends it early
 * @returns why changes were refused, by the names of references
 * @throws RemoteError if the push as a whole failed; Error if the remote can't be reached
 */
export async function pushTo(
  { remote, capabilities }: RemoteRefs,
  changes: readonly RemoteChange[],
  pack: (() => AsyncIterable<Buffer>) | undefined,
  signal: AbortSignal,
  pace: Pace,
): Promise<ReadonlyMap<string, string>> {
  const wanted = ["report-status", "ofs-delta"].filter((name) => capabilities.has(name));
  async function* body() {
    let after = `\0 ${wanted.join(" ")}`;
    for (const { name, from = NO_OBJECT, to = NO_OBJECT } of changes) {
      yield pkt(`${from} ${to} ${name}${after}`);
      after = "";
      if (pace.isDue) await pace.pause();
    }
    yield pkt(FLUSH);
    if (pack) yield* pack();
  }
  const answer = await ask(remote, "git-receive-pack", body, signal);
  const refused = new Map<string, string>();
  let isUnpacked = false;
  for await (const packet of packetsOf(answer, pace)) {
    if (typeof packet === "number") continue;
    const [, problem] = /^unpack (.*)$/s.exec(packet) ?? [];
    if (problem !== undefined && problem !== "ok") {
      throw new RemoteError(`the server can't read the objects: ${problem.slice(0, 500)}`);
    }
    isUnpacked ||= problem === "ok";
    const [, name, reason = ""] = /^ng (\S+) ?(.*)$/s.exec(packet) ?? [];
    if (name !== undefined) refused.set(name, reason.slice(0, 500));
  }
  if (!isUnpacked) throw new RemoteError("the server does not say what became of the push");
  return refused;
}

/** What is fetched from a remote. */
export interface Wanted {
  /** Names of objects in hex, which references of the remote are for; at least one. */
  readonly wants: readonly string[];
  /** Names of commits that are here: what these reach is not sent. */
  readonly haves: readonly string[];
  /** Bytes that the remote may send. */
  readonly most: number;
}

/**
 * Fetches from a remote.
 *
 * @param signal ends it early
 * @returns the pack, as it arrives; whoever does not read it to its end must end the iteration
 * @throws RemoteError if the fetch failed; Error if the remote can't be reached
 */
export async function* fetchFrom(
  { remote, capabilities }: RemoteRefs,
  { wants, haves, most }: Wanted,
  signal: AbortSignal,
  pace: Pace,
): AsyncGenerator<Buffer> {
  const spoken = ["side-band-64k", "ofs-delta", "no-progress"].filter((name) =>
    capabilities.has(name),
  );
  const [first, ...others] = wants;
  const lines = [`want ${first} ${spoken.join(" ")}`, ...others.map((oid) => `want ${oid}`)];
  const known = haves.map((oid) => `have ${oid}`);
  const body = pkt(...lines, FLUSH, ...known, "done").toString("latin1");
  const answer = await ask(remote, "git-upload-pack", body, signal);
  for await (const packet of bytePacketsOf(answer, most, pace)) {
    if (typeof packet === "number") continue;
    const [channel] = packet;
    if (channel === PACK_BAND) yield packet.subarray(1);
    else if (channel === ERROR_BAND || packet.toString("latin1", 0, 4) === "ERR ") {
      const said = packet.toString("utf8", channel === ERROR_BAND ? 1 : 4).trim();
      throw new RemoteError(`the server can't send the objects: ${said.slice(0, 500)}`);
    }
  }
}
