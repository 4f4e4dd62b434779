import { RefusedError } from "./errors.ts";
import { DELIMITER, FLUSH, type Packet } from "./pkt-line.ts";
import { EVERYTHING, type Filter } from "./select.ts";

/** Why and where a client's history is to end early. */
export interface Deepening {
  /** Commits from the wanted ones on; 0 for no limit. */
  readonly depth: number;
  /** Whether the depth counts from where the client's history ends. */
  readonly isRelative: boolean;
  /** Seconds of the epoch: no older commits; 0 for no limit. */
  readonly since: number;
  /** References whose history is left out. */
  readonly not: readonly string[];
}

/** What a client asks for. */
export interface FetchRequest {
  readonly wants: readonly string[];
  /** What the client says it has, in order; {@link FLUSH} where it waits for an answer. */
  readonly haves: readonly Packet[];
  /** Whether it wants no more answers, but the pack. */
  readonly isDone: boolean;
  readonly waitsForDone: boolean;
  readonly thin: boolean;
  readonly ofsDeltas: boolean;
  readonly includeTags: boolean;
  readonly progress: boolean;
  /** Commits at which the client's history ends. */
  readonly shallow: readonly string[];
  readonly deepening: Deepening | undefined;
  readonly filter: Filter;
}

const OID = /^[0-9a-f]{40}$/;

/** @throws RefusedError */
function requireOid(text: string): string {
  if (!OID.test(text)) throw new RefusedError(`malformed object name '${text.slice(0, 100)}'`);
  return text;
}

/**
 * What a client says it has, in a line of versions 0 and 1; `undefined` for lines that are not known.
 *
 * @throws RefusedError if it is malformed
 */
export function haveOf(line: string): string | undefined {
  return line.startsWith("have ") ? requireOid(line.slice("have ".length)) : undefined;
}

/** @throws RefusedError */
function numberOf(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new RefusedError("malformed number");
  return Number(text);
}

const UNITS: Readonly<Record<string, number>> = { "": 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 };

/** @throws RefusedError for a filter that is not supported */
function filterOf(spec: string): Filter {
  if (spec === "blob:none") return { trees: true, blobLimit: 0 };
  if (spec === "tree:0") return { trees: false, blobLimit: 0 };
  const [, limit, unit = ""] = /^blob:limit=(\d{1,15})([kmg]?)$/.exec(spec) ?? [];
  if (!limit) throw new RefusedError(`filter '${spec.slice(0, 100)}' not supported`);
  return { trees: true, blobLimit: Number(limit) * (UNITS[unit] as number) };
}

/**
 * Reads the lines of a request. Lines that are not known are ignored, as clients expect.
 *
 * @param capabilities those of the first want, in versions 0 and 1
 * @throws RefusedError if a line is malformed
 */
export function readFetchRequest(
  packets: readonly Packet[],
  capabilities: ReadonlySet<string>,
): FetchRequest {
  const wants: string[] = [];
  const haves: Packet[] = [];
  const shallow: string[] = [];
  const not: string[] = [];
  const flags = new Set(capabilities);
  let depth = 0;
  let since = 0;
  let filter = EVERYTHING;
  for (const packet of packets) {
    if (typeof packet === "number") {
      haves.push(packet);
      continue;
    }
    const space = packet.indexOf(" ");
    const word = space < 0 ? packet : packet.slice(0, space);
    const value = space < 0 ? "" : packet.slice(space + 1);
    if (word === "want") wants.push(requireOid(value));
    else if (word === "have") haves.push(requireOid(value));
    else if (word === "shallow") shallow.push(requireOid(value));
    else if (word === "deepen") depth = numberOf(value);
    else if (word === "deepen-since") since = numberOf(value);
    else if (word === "deepen-not") not.push(value);
    else if (word === "filter") filter = filterOf(value);
    else flags.add(word);
  }
  const isRelative = flags.has("deepen-relative");
  return {
    wants,
    haves,
    isDone: flags.has("done"),
    waitsForDone: flags.has("wait-for-done"),
    thin: flags.has("thin-pack"),
    ofsDeltas: flags.has("ofs-delta"),
    includeTags: flags.has("include-tag"),
    progress: !flags.has("no-progress"),
    shallow,
    deepening:
      depth > 0 || since > 0 || not.length > 0 ? { depth, isRelative, since, not } : undefined,
    filter,
  };
}

/** A command of version 2 with its arguments (gitprotocol-v2(5)). */
export interface Command {
  readonly name: string;
  readonly args: readonly string[];
}

/** Reads a command of version 2. @throws RefusedError if there is none */
export function readCommand(packets: readonly Packet[]): Command {
  const delimiter = packets.indexOf(DELIMITER);
  const isLine = (packet: Packet) => typeof packet === "string";
  const head = packets.slice(0, delimiter < 0 ? packets.length : delimiter).filter(isLine);
  const command = head.find((line) => line.startsWith("command="));
  if (!command) throw new RefusedError("no command requested");
  const args = delimiter < 0 ? [] : packets.slice(delimiter + 1).filter(isLine);
  return { name: command.slice("command=".length), args };
}

/** The first want of versions 0 and 1 carries the client's capabilities; this separates them. */
export function splitCapabilities(packets: readonly Packet[]): {
  packets: readonly Packet[];
  capabilities: ReadonlySet<string>;
} {
  const [first = FLUSH, ...rest] = packets;
  if (typeof first === "number") return { packets, capabilities: new Set() };
  const [word = "", oid = "", ...capabilities] = first.split(" ");
  return { packets: [`${word} ${oid}`, ...rest], capabilities: new Set(capabilities) };
}
