import { Pace } from "../turns/pace.ts";
import { RefusedError } from "./errors.ts";

/** A packet that ends a message or a list. */
export const FLUSH = 0;
/** A packet that separates the sections of a message, in version 2. */
export const DELIMITER = 1;

/** A line without its newline, or a special packet. */
export type Packet = string | number;

/** Where packets come from. */
export interface Packets {
  /** The next one; `undefined` at the end. @throws RefusedError if it is malformed */
  packet(): Promise<Packet | undefined>;
}

/** Packets that are all there. */
export function packetsOf(all: readonly Packet[]): Packets {
  const left = all.values();
  return { packet: async () => left.next().value };
}

/** The most bytes a packet can have, with its length. */
const MAX_PACKET = 65_520;
/** The bytes of a packet's length. */
const LENGTH = 4;

/** Writes packets (gitprotocol-common(5)). */
export function pkt(...packets: Packet[]): Buffer {
  return Buffer.concat(
    packets.map((packet) => {
      if (typeof packet === "number") return Buffer.from(`000${packet}`);
      const line = Buffer.from(`${packet}\n`);
      return Buffer.concat([lengthOf(line.length), line]);
    }),
  );
}

const lengthOf = (bytes: number) =>
  Buffer.from((bytes + LENGTH).toString(16).padStart(LENGTH, "0"));

/** The channels of a multiplexed answer. */
export const PACK_BAND = 1;
export const PROGRESS_BAND = 2;
export const ERROR_BAND = 3;

/** Writes bytes to a channel of a multiplexed answer, in packets of at most `most` bytes. */
export function band(channel: number, bytes: Uint8Array, most = MAX_PACKET): Buffer {
  const start = Buffer.of(channel);
  const room = most - LENGTH - start.length;
  const parts: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += room) {
    const part = bytes.subarray(at, at + room);
    parts.push(lengthOf(part.length + start.length), start, part);
  }
  return Buffer.concat(parts);
}

/** A request's body as it arrives: packets, then perhaps a pack. */
export class Input implements Packets {
  readonly #source: AsyncIterator<Uint8Array>;
  readonly #pace: Pace;
  #hasEnded = false;
  /** What has arrived. */
  bytes: Buffer = Buffer.alloc(0);
  /** How much of {@link bytes} has been used. */
  position = 0;

  constructor(source: AsyncIterable<Uint8Array>, pace = new Pace()) {
    this.#source = source[Symbol.asyncIterator]();
    this.#pace = pace;
  }

  /** How many bytes have arrived, but were not used yet. */
  get available(): number {
    return this.bytes.length - this.position;
  }

  /** Waits until so many unused bytes have arrived; returns `false` if the body ends before. */
  async fill(least: number): Promise<boolean> {
    if (this.available >= least) return true;
    const chunks: Uint8Array[] = [this.bytes.subarray(this.position)];
    let length = this.available;
    while (length < least && !this.#hasEnded) {
      const { done, value } = await this.#source.next();
      if (done) this.#hasEnded = true;
      else {
        chunks.push(value);
        length += value.length;
      }
    }
    this.bytes = Buffer.concat(chunks);
    this.position = 0;
    return length >= least;
  }

  /** Uses the next bytes, which have arrived. */
  take(length: number): Buffer {
    const taken = this.bytes.subarray(this.position, this.position + length);
    this.position += length;
    return taken;
  }

  /**
   * Reads the next packet.
   *
   * @returns `undefined` at the end of the body
   * @throws RefusedError if it is malformed
   */
  async packet(): Promise<Packet | undefined> {
    const packet = await this.bytePacket();
    if (typeof packet !== "object") return packet;
    const line = packet.toString();
    return line.endsWith("\n") ? line.slice(0, -1) : line;
  }

  /** The same as bytes, whose newline stays: a part of a multiplexed answer begins with its channel. */
  async bytePacket(): Promise<Buffer | number | undefined> {
    if (this.#pace.isDue) await this.#pace.pause();
    if (!(await this.fill(LENGTH))) {
      if (this.available > 0) throw malformed();
      return undefined;
    }
    const text = this.take(LENGTH).toString("latin1");
    const length = /^[0-9a-f]{4}$/i.test(text) ? Number.parseInt(text, 16) : MAX_PACKET + 1;
    if (length < LENGTH) return length;
    if (length > MAX_PACKET || !(await this.fill(length - LENGTH))) throw malformed();
    return this.take(length - LENGTH);
  }

  /** Reads all packets up to the end of the body. @throws RefusedError if one is malformed */
  async packets(): Promise<Packet[]> {
    const packets: Packet[] = [];
    for (let next = await this.packet(); next !== undefined; next = await this.packet()) {
      packets.push(next);
    }
    return packets;
  }
}

const malformed = () => new RefusedError("the request is malformed");
