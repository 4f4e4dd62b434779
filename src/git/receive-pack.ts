import type { Budget } from "../turns/budget.ts";
import type { Pace } from "../turns/pace.ts";
import { RefusedError } from "./errors.ts";
import { LIMITS } from "./limits.ts";
import type { Packs } from "./packs.ts";
import { band, FLUSH, type Input, PACK_BAND, PROGRESS_BAND, pkt } from "./pkt-line.ts";
import { checkChanges, type Outcome, type Push, type RefChange } from "./push.ts";
import { receivePack } from "./receive.ts";
import type { Refs } from "./refs.ts";
import type { Repository } from "./repository.ts";
import type { Shown } from "./shown.ts";
import { AGENT, advertisement, type Connection } from "./upload-pack.ts";

const CAPABILITIES = [
  ...["report-status", "report-status-v2", "delete-refs", "side-band-64k", "quiet", "atomic"],
  ...["ofs-delta", "push-options", "object-format=sha1", AGENT],
];

/** The name that stands for no object. */
const NOTHING = "0".repeat(40);

/** What a client that wants to push is told first. */
export function advertiseReceive(
  { list }: Refs,
  { version }: Pick<Connection, "version">,
  pace: Pace,
): AsyncIterable<Buffer> {
  function* lines() {
    for (const { name, oid } of list) yield `${oid} ${name}`;
  }
  // Version 2 has no pushes: clients that ask for it are answered in version 0.
  return advertisement(lines(), CAPABILITIES, version === 1 ? 1 : 0, pace);
}

/** A push of a Git client. */
export interface ReceivedPush extends Push {
  /** Why the pack was refused, if it was. */
  readonly refusal: string | undefined;
  /** Whether the answer is multiplexed. */
  readonly isMultiplexed: boolean;
  readonly wantsReport: boolean;
}

/** Options that a push has at most, and characters of all of them. */
const MOST_OPTIONS = 100;
const MOST_OPTION_CHARACTERS = 256 * 1024;

/** The beginning of a push. */
interface Commands {
  readonly changes: readonly RefChange[];
  readonly capabilities: ReadonlySet<string>;
  /** What the client said with `git push -o`. */
  readonly options: readonly string[];
}

/** A repository before a push. */
export interface Before {
  readonly repository: Repository;
  /** Of the repository's record; 0 if it has none yet. */
  readonly version: number;
  /** What a push may refer to besides what it brings. */
  readonly shown: Shown;
}

/**
 * Receives a push: its commands and its pack.
 *
 * @param packs where the pack is stored
 * @param now epoch milliseconds
 * @returns `undefined` if it is none: clients send an empty one to find out whether they must sign in
 * @throws RefusedError if the commands are malformed
 */
export async function receivePush(
  input: Input,
  before: Before,
  packs: Packs,
  now: number,
  budget: Budget,
): Promise<ReceivedPush | undefined> {
  const { changes, capabilities, options } = await readCommands(input);
  if (changes.length === 0) return undefined;
  const push = {
    version: before.version,
    options,
    isAtomic: capabilities.has("atomic"),
    isMultiplexed: capabilities.has("side-band-64k"),
    wantsReport: capabilities.has("report-status") || capabilities.has("report-status-v2"),
  };
  const hasPack = changes.some(({ to }) => to);
  try {
    const received = await receiveChanges(
      hasPack ? input : undefined,
      changes,
      before,
      packs,
      now,
      budget,
    );
    return { ...push, ...received, refusal: undefined };
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    const { repository } = before;
    const problem = "unpacker error";
    const failed = changes.map((one) => ({ ...one, peeled: null, isForced: false, problem }));
    return { ...push, changes: failed, refusal: error.message, staged: undefined, repository };
  }
}

/**
 * Receives changes that were made elsewhere, with the objects that they need: of what is here, they may be to what is shown.
 *
 * @param input a pack; `undefined` if they need none
 * @param by whether they are to references that clients may change. Default: they are
 * @throws RefusedError if the pack is not valid; nothing of it is left then
 */
export async function receiveChanges(
  input: Input | undefined,
  changes: readonly RefChange[],
  { repository, shown }: Before,
  packs: Packs,
  now: number,
  budget: Budget,
  by: "client" | "server" = "client",
): Promise<Pick<Push, "changes" | "staged" | "repository">> {
  const staged = input && (await receivePack(input, repository, packs, now, shown));
  try {
    const after = staged ? repository.with(staged.pack) : repository;
    await after.prepareGraph(budget);
    const checked = await checkChanges(after, changes, by, budget);
    const objects = checked.map(({ to }) => (to === undefined ? -1 : after.findHex(to)));
    const isKnown = (object: number) => object >= 0 && object < repository.count;
    const seen = await shown.those(objects.filter(isKnown), budget);
    for (const [at, object] of objects.entries()) {
      if (!isKnown(object) || seen.has(object)) continue;
      const change = checked[at] as Push["changes"][number];
      checked[at] = { ...change, problem: change.problem ?? "missing necessary objects" };
    }
    return { changes: checked, staged, repository: after };
  } catch (error) {
    await staged?.discard();
    throw error;
  }
}

async function readCommands(input: Input): Promise<Commands> {
  const changes: RefChange[] = [];
  let capabilities: ReadonlySet<string> = new Set();
  for (let line = await input.packet(); typeof line === "string"; line = await input.packet()) {
    const [command = "", offered] = line.split("\0", 2);
    if (offered !== undefined) capabilities = new Set(offered.trim().split(" "));
    // A shallow client says where its history ends; what it sends is complete all the same.
    if (command.startsWith("shallow ")) continue;
    const [, from, to, name] = /^([0-9a-f]{40}) ([0-9a-f]{40}) (.+)$/s.exec(command) ?? [];
    if (!from || !to || !name) throw new RefusedError("malformed command");
    const oidOr = (oid: string) => (oid === NOTHING ? undefined : oid);
    changes.push({ name, from: oidOr(from), to: oidOr(to) });
    if (changes.length > LIMITS.commands) {
      throw new RefusedError(`more than ${LIMITS.commands} references`);
    }
  }
  if (new Set(changes.map(({ name }) => name)).size < changes.length) {
    throw new RefusedError("a reference is changed twice");
  }
  const options: string[] = [];
  if (capabilities.has("push-options")) {
    let characters = 0;
    for (let line = await input.packet(); typeof line === "string"; line = await input.packet()) {
      options.push(line.trimEnd());
      characters += line.length;
      if (options.length > MOST_OPTIONS || characters > MOST_OPTION_CHARACTERS) {
        throw new RefusedError("too many push options");
      }
    }
  }
  return { changes, capabilities, options };
}

/**
 * Answers a push.
 *
 * @param messages lines that the client shows
 */
export function reportOf(
  push: ReceivedPush,
  outcomes: readonly Outcome[],
  messages: readonly string[],
): Buffer {
  const lines = outcomes.map(({ change: { name }, problem }) =>
    problem === undefined ? `ok ${name}` : `ng ${name} ${problem}`,
  );
  const report = push.wantsReport
    ? pkt(`unpack ${push.refusal ?? "ok"}`, ...lines, FLUSH)
    : NO_BYTES;
  if (!push.isMultiplexed) return report;
  const shown = Buffer.from(messages.map((message) => `${message}\n`).join(""));
  return Buffer.concat([band(PROGRESS_BAND, shown), band(PACK_BAND, report), pkt(FLUSH)]);
}

const NO_BYTES = Buffer.alloc(0);
