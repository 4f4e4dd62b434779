import { Pace } from "../turns/pace.ts";
import { RefusedError } from "./errors.ts";
import { FetchPlan } from "./fetch-plan.ts";
import {
  type FetchRequest,
  haveOf,
  readCommand,
  readFetchRequest,
  splitCapabilities,
} from "./fetch-request.ts";
import {
  band,
  DELIMITER,
  FLUSH,
  PACK_BAND,
  type Packet,
  type Packets,
  PROGRESS_BAND,
  pkt,
} from "./pkt-line.ts";
import type { Refs } from "./refs.ts";
import type { Repository } from "./repository.ts";
import { writePack } from "./send.ts";
import type { Shown } from "./shown.ts";

/** How this server calls itself. */
export const AGENT = "agent=pm-api";
const OBJECT_FORMAT = "object-format=sha1";

/** What this server can do, for versions 0 and 1. */
const CAPABILITIES = [
  ...["multi_ack", "thin-pack", "side-band", "side-band-64k", "ofs-delta", "shallow"],
  ...["deepen-since", "deepen-not", "deepen-relative", "no-progress", "include-tag"],
  ...["multi_ack_detailed", "allow-tip-sha1-in-want", "allow-reachable-sha1-in-want", "filter"],
];
/** What it can do besides where each request is whole: elsewhere Git does not offer it. */
const STATELESS_CAPABILITIES = [...CAPABILITIES, "no-done"];

/** How a client is connected. */
export interface Connection {
  /** Which version of the protocol it asked for. */
  readonly version: ProtocolVersion;
  /** Whether it asks again on the same connection, as over SSH; over HTTP each request is whole. */
  readonly isStateful: boolean;
}

/** Versions of the protocol (gitprotocol-v2(5)); version 1 is version 0 with a line that says so. */
export type ProtocolVersion = 0 | 1 | 2;

/** The version that a client's `Git-Protocol` header asks for. */
export function versionOf(header: string | undefined): ProtocolVersion {
  const asked = new Set((header ?? "").split(":"));
  return asked.has("version=2") ? 2 : asked.has("version=1") ? 1 : 0;
}

/** What a client that wants to fetch is told first. */
export async function* advertiseUpload(
  { head, list }: Refs,
  { version, isStateful }: Connection,
  pace: Pace,
): AsyncGenerator<Buffer> {
  if (version === 2) {
    yield pkt(
      "version 2",
      AGENT,
      "ls-refs=unborn",
      "fetch=shallow wait-for-done filter",
      "server-option",
      OBJECT_FORMAT,
      FLUSH,
    );
    return;
  }
  const target = list.find(({ name }) => name === head);
  const symref = target ? [`symref=HEAD:${head}`] : [];
  const known = isStateful ? CAPABILITIES : STATELESS_CAPABILITIES;
  const capabilities = [...known, ...symref, OBJECT_FORMAT, AGENT];
  function* lines() {
    if (target) yield `${target.oid} HEAD`;
    for (const { name, oid, peeled } of list) {
      yield `${oid} ${name}`;
      if (peeled !== null) yield `${peeled} ${name}^{}`;
    }
  }
  yield* advertisement(lines(), capabilities, version, pace);
}

/** The references as versions 0 and 1 list them, the first with the capabilities. */
export async function* advertisement(
  lines: Iterable<string>,
  capabilities: readonly string[],
  version: ProtocolVersion,
  pace: Pace,
): AsyncGenerator<Buffer> {
  let held: string[] = version === 1 ? ["version 1"] : [];
  let after = `\0${capabilities.join(" ")}`;
  for (const line of lines) {
    held.push(line + after);
    after = "";
    if (pace.isDue) await pace.pause();
    if (held.length < LINES) continue;
    yield pkt(...held);
    held = [];
  }
  if (after) held.push(`${"0".repeat(40)} capabilities^{}${after}`);
  yield pkt(...held, FLUSH);
}

/** What a fetch reads. */
export interface Served {
  readonly repository: Repository;
  readonly refs: Refs;
  /** What clients may ask for by name, whatever is there. */
  readonly shown: Shown;
  /** Called once objects are sent. */
  readonly onSending?: (() => void) | undefined;
}

/**
 * Answers requests to fetch: one, or all that come on a connection.
 *
 * @param packets what the client sends
 * @param signal ends the work once the client has left
 */
export async function* uploadPack(
  served: Served,
  packets: Packets,
  { version, isStateful }: Connection,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  try {
    const pace = new Pace(signal);
    if (version !== 2) yield* answer(served, packets, pace);
    else while ((yield* answerCommand(served, packets, pace)) && isStateful);
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    yield pkt(`ERR ${error.message}`);
  }
}

/** The next packets, up to a flush or the end. */
async function untilFlush(packets: Packets): Promise<Packet[]> {
  const read: Packet[] = [];
  for (let next = await packets.packet(); next !== undefined; next = await packets.packet()) {
    if (next === FLUSH) break;
    read.push(next);
  }
  return read;
}

/** Answers a command. @returns `false` if the client has none */
async function* answerCommand(
  served: Served,
  packets: Packets,
  pace: Pace,
): AsyncGenerator<Buffer, boolean> {
  const sent = await untilFlush(packets);
  // What a client sends to find out whether it must sign in, or at the end of a connection.
  if (sent.length === 0) return false;
  const { name, args } = readCommand(sent);
  if (name === "ls-refs") yield* lsRefs(served.refs, args, pace);
  else if (name === "fetch") {
    const request = await onlyShown(served, readFetchRequest(args, new Set()), pace);
    yield* fetchObjects(served, request, pace);
  } else throw new RefusedError(`unknown command '${name.slice(0, 100)}'`);
  return true;
}

const PREFIX = "ref-prefix ";
/** References are told by prefix unless a client sends more: then all are, as by Git from 65,536 on. */
const MOST_PREFIXES = 1000;
/** How many lines are sent at once. */
const LINES = 256;

async function* lsRefs(
  { head, list }: Refs,
  args: readonly string[],
  pace: Pace,
): AsyncGenerator<Buffer> {
  const sent = new Set<string>();
  for (const arg of args) {
    if (arg.startsWith(PREFIX)) sent.add(arg.slice(PREFIX.length));
    if (sent.size > MOST_PREFIXES) break;
    if (pace.isDue) await pace.pause();
  }
  const isWanted = sent.size > MOST_PREFIXES ? () => true : beginsWith(sent);
  const symref = args.includes("symrefs") ? ` symref-target:${head}` : "";
  const isPeeled = args.includes("peel");
  let lines: string[] = [];
  if (isWanted("HEAD")) {
    const target = list.find(({ name }) => name === head);
    if (target) lines.push(`${target.oid} HEAD${symref}`);
    else if (args.includes("unborn")) lines.push(`unborn HEAD${symref}`);
  }
  for (const { name, oid, peeled } of list) {
    if (pace.isDue) await pace.pause();
    if (!isWanted(name)) continue;
    lines.push(`${oid} ${name}${isPeeled && peeled !== null ? ` peeled:${peeled}` : ""}`);
    if (lines.length < LINES) continue;
    yield pkt(...lines);
    lines = [];
  }
  yield pkt(...lines, FLUSH);
}

/** Tells which names begin with one of some prefixes; without any, all do. */
function beginsWith(prefixes: ReadonlySet<string>): (name: string) => boolean {
  if (prefixes.size === 0) return () => true;
  // Those that begin with another one say nothing more, so the last one that is not after a name is the only candidate.
  const sorted: string[] = [];
  for (const prefix of [...prefixes].sort()) {
    const last = sorted.at(-1);
    if (last === undefined || !prefix.startsWith(last)) sorted.push(prefix);
  }
  return (name) => {
    let low = 0;
    let high = sorted.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sorted[middle] as string) <= name) low = middle + 1;
      else high = middle;
    }
    return low > 0 && name.startsWith(sorted[low - 1] as string);
  };
}

const isOid = (have: Packet) => typeof have === "string";

/**
 * A request without what the client says it has of what is not shown: answers would tell that it is here, and the commits
 * at which the client's history ends what lies behind them.
 *
 * @throws RefusedError if something is wanted that is not shown
 */
async function onlyShown(
  { repository, shown }: Served,
  request: FetchRequest,
  pace: Pace,
): Promise<FetchRequest> {
  if (shown.isEverything) return request;
  for (const oid of request.wants) {
    const object = repository.findHex(oid);
    if (object < 0 || !(await shown.has(object, pace))) {
      throw new RefusedError(`upload-pack: not our ref ${oid}`);
    }
  }
  const haves: Packet[] = [];
  for (const have of request.haves) {
    if (typeof have !== "string" || (await shown.hasCommitNamed(have, pace))) haves.push(have);
    if (pace.isDue) await pace.pause();
  }
  const shallow: string[] = [];
  for (const oid of request.shallow) {
    if (await shown.hasCommitNamed(oid, pace)) shallow.push(oid);
    if (pace.isDue) await pace.pause();
  }
  return { ...request, haves, shallow };
}

async function* fetchObjects(
  served: Served,
  request: FetchRequest,
  pace: Pace,
): AsyncGenerator<Buffer> {
  const plan = new FetchPlan(served.repository, served.refs, request);
  const common = request.haves.filter(isOid).filter((oid) => plan.has(oid));
  if (!request.isDone) {
    const isReady = !request.waitsForDone && plan.isReady(common);
    yield pkt(
      "acknowledgments",
      ...(common.length === 0 ? ["NAK"] : common.map((oid) => `ACK ${oid}`)),
      ...(isReady ? ["ready", DELIMITER] : [FLUSH]),
    );
    if (!isReady) return;
  }
  if (request.deepening) yield pkt("shallow-info", ...endsOf(plan), DELIMITER);
  yield pkt("packfile");
  yield* sendPack(served, plan, request, common, MAX_BAND, pace);
  yield pkt(FLUSH);
}

const endsOf = ({ shallow, unshallow }: FetchPlan) => [
  ...shallow.map((oid) => `shallow ${oid}`),
  ...unshallow.map((oid) => `unshallow ${oid}`),
];

/** Answers in versions 0 and 1 (gitprotocol-pack(5)). */
async function* answer(served: Served, sent: Packets, pace: Pace): AsyncGenerator<Buffer> {
  const { packets, capabilities } = splitCapabilities(await untilFlush(sent));
  const asked = readFetchRequest(packets, capabilities);
  if (asked.wants.length === 0) return;
  const request = await onlyShown(served, asked, pace);
  const plan = new FetchPlan(served.repository, served.refs, request);
  if (request.deepening) yield pkt(...endsOf(plan), FLUSH);
  const { shown } = served;
  const isCommon = async (oid: string) => {
    if (pace.isDue) await pace.pause();
    return plan.has(oid) && (shown.isEverything || shown.hasCommitNamed(oid, pace));
  };
  const common = yield* negotiate(plan, sent, capabilities, isCommon);
  if (!common) return;
  const most = capabilities.has("side-band-64k")
    ? MAX_BAND
    : capabilities.has("side-band")
      ? SMALL_BAND
      : undefined;
  yield* sendPack(served, plan, request, common, most, pace);
  if (most !== undefined) yield pkt(FLUSH);
}

/** Bytes of a packet with `side-band-64k`, and with `side-band`. */
const MAX_BAND = 65_520;
const SMALL_BAND = 1000;

/** Acknowledges what both have, and returns it; `undefined` if the client will send more of what it has first. */
async function* negotiate(
  plan: FetchPlan,
  haves: Packets,
  capabilities: ReadonlySet<string>,
  isCommon: (oid: string) => Promise<boolean>,
): AsyncGenerator<Buffer, string[] | undefined> {
  const isDetailed = capabilities.has("multi_ack_detailed");
  const isMulti = isDetailed || capabilities.has("multi_ack");
  const common: string[] = [];
  let isReady = false;
  for (let have = await haves.packet(); have !== "done"; have = await haves.packet()) {
    if (have === undefined) return undefined;
    if (typeof have === "number") {
      if (isDetailed && !isReady && plan.isReady(common)) {
        isReady = true;
        yield pkt(`ACK ${common.at(-1)} ready`);
      }
      if (isMulti || common.length === 0) yield pkt("NAK");
      if (isReady && capabilities.has("no-done")) {
        yield pkt(`ACK ${common.at(-1)}`);
        return common;
      }
      continue;
    }
    const oid = haveOf(have);
    if (oid === undefined || !(await isCommon(oid))) continue;
    common.push(oid);
    if (isDetailed) yield pkt(`ACK ${oid} common`);
    else if (isMulti) yield pkt(`ACK ${oid} continue`);
    else if (common.length === 1) yield pkt(`ACK ${oid}`);
  }
  if (common.length === 0) yield pkt("NAK");
  else if (isMulti) yield pkt(`ACK ${common.at(-1)}`);
  return common;
}

/** Sends a pack, and progress if the answer is multiplexed: in packets of at most `most` bytes. */
async function* sendPack(
  { shown, onSending }: Served,
  plan: FetchPlan,
  { ofsDeltas, thin, filter, progress }: FetchRequest,
  common: readonly string[],
  most: number | undefined,
  pace: Pace,
): AsyncGenerator<Buffer> {
  const selection = await plan.select(common, !shown.isEverything, pace);
  onSending?.();
  if (most !== undefined && progress) {
    yield band(
      PROGRESS_BAND,
      Buffer.from(`Enumerating objects: ${selection.count}, done.\n`),
      most,
    );
  }
  // Clients that left out blobs may lack those that a delta would be of.
  const isFiltered = !filter.trees || filter.blobLimit !== Number.POSITIVE_INFINITY;
  const options = { ofsDeltas, thin: thin && !isFiltered };
  for await (const part of writePack(selection, options, pace)) {
    if (most === undefined) yield part;
    else yield band(PACK_BAND, part, most);
  }
}
