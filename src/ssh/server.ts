import { createServer, type Server as NetServer, type Socket } from "node:net";
import type { Algorithms, AuthContext, Connection, ServerChannel, Session } from "ssh2";
import {
  callerAt,
  findSignInKey,
  Refusal,
  requireUsable,
  type SignInKey,
  userWith,
} from "../auth/ssh-keys.ts";
import { ApiError } from "../core/errors.ts";
import type { LogEntry } from "../core/http/access-log.ts";
import type { TokenUsage } from "../core/http/authenticator.ts";
import type { Respond } from "../core/http/incoming.ts";
import { networkOf } from "../core/http/network.ts";
import type { Secrets } from "../core/secrets.ts";
import type { Service } from "../jobs/services.ts";
import { hasSignedByToken } from "../signatures/ssh.ts";
import type { Store } from "../store/port.ts";
import { ClientGone, Pipe } from "./channels.ts";
import { readCommand, SERVICE_OF } from "./command.ts";
import { authenticateLfs, performGit } from "./git.ts";
import { fingerprintOf, privateHostKeys } from "./host-keys.ts";
import { OWN, performOwn } from "./own.ts";
import type { Ssh2 } from "./ssh2.ts";
import { errorText } from "./texts.ts";

/** The name that all clients sign in with. */
const USER = "git";
/** What clients are told of the server, after the version of the protocol. */
const IDENT = "pm-api";
/** Connections at once: those that have not signed in yet, in all and of one network, and all. */
const MOST_UNKNOWN = 256;
const MOST_UNKNOWN_OF_NETWORK = 100;
const MOST_OF_NETWORK = 256;
const MOST = 2000;
/** Keys that a client may try, as with Git's usual servers a few more than most agents have. */
const MOST_KEYS = 20;
/** Sessions of one connection at once, as with GitLab. */
const MOST_SESSIONS = 10;
/** Sessions of one connection that may end without a command. */
const MOST_UNUSED = 100;
/** Bytes of one command that wait to be read: more than a client that keeps to its window sends. */
const MOST_HELD = 8 * 1024 * 1024;
/** Those of all commands of all clients. */
const MOST_HELD_OF_ALL = 256 * 1024 * 1024;
/** Bytes that are still to be sent to a client, from which on nothing more is read from it. */
const MOST_UNSENT = 1024 * 1024;
/** The longest value of `GIT_PROTOCOL`. */
const MOST_PROTOCOL = 256;

/** Statuses of commands: refused, and unknown. */
const REFUSED = 1;
const UNKNOWN = 128;

/**
 * Without SHA-1, without compression (packs are compressed), and without exchanges of keys that cost much before anybody is
 * known.
 */
const ALGORITHMS = {
  kex: [
    ...["curve25519-sha256", "curve25519-sha256@libssh.org"],
    ...["ecdh-sha2-nistp256", "ecdh-sha2-nistp384", "diffie-hellman-group14-sha256"],
  ],
  hmac: [
    ...["hmac-sha2-256-etm@openssh.com", "hmac-sha2-512-etm@openssh.com"],
    ...["hmac-sha2-256", "hmac-sha2-512"],
  ],
  compress: ["none"],
} as Algorithms;

/** What the SSH server needs of the application. */
export interface SshSettings {
  readonly ssh2: Ssh2;
  readonly host: string;
  /** The port to listen on; 0 for a free one. */
  readonly port: number;
  /** Milliseconds within which clients must sign in, and then begin a command. */
  readonly signInTimeout: number;
  readonly store: Store;
  readonly secrets: Secrets;
  readonly now: () => number;
  /** Answers the commands of Git: the pipeline of the mount `SSH`. */
  readonly respond: Respond;
  readonly tokenUsage: TokenUsage;
  /** The public address; without one, texts name the address that the client is connected to. */
  readonly url: string | undefined;
  readonly log: ((entry: LogEntry) => void) | undefined;
  readonly onError: (error: unknown) => void;
}

/** A running SSH server. */
export interface SshService extends Service {
  /** The port that it listens on. */
  readonly port: number;
  /** The fingerprints of its host keys. */
  readonly fingerprints: readonly string[];
}

/**
 * Serves Git over SSH.
 *
 * @throws SecretKeyError if the host keys can't be encrypted or decrypted
 * @throws the system's error if the address can't be listened on
 */
export async function startSshServer(settings: SshSettings): Promise<SshService> {
  const { ssh2, store, secrets, now, host, port } = settings;
  const keys = await privateHostKeys({ store, secrets, now: now(), ssh2 });
  const readable = keys.flatMap((key) => {
    const read = ssh2.utils.parseKey(key);
    if (read instanceof Error) throw read;
    // Deno can't sign with keys of ECDSA that are written as these are.
    return read.sign(Buffer.from(key)) instanceof Error ? [] : [{ key, read }];
  });
  const hostKeys = readable.map(({ key }) => key);
  const fingerprints = readable.map(({ read }) => fingerprintOf(read.getPublicSSH()));
  const peers = new Peers(settings);
  const ssh = new ssh2.Server({ hostKeys, ident: IDENT, algorithms: ALGORITHMS }, (client, info) =>
    peers.met(client, `${info.ip} ${info.port}`),
  );
  // Its own listener would count no connections.
  const server = createServer((socket) => {
    if (peers.enter(socket)) ssh.injectSocket(socket);
  });
  const listened = await listening(server, host, port);
  return {
    port: listened,
    fingerprints,
    stop: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      peers.end();
      await closed;
    },
  };
}

async function listening(server: NetServer, host: string, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, resolve);
  });
  const address = server.address();
  return typeof address === "object" && address ? address.port : port;
}

/** The connections of a server. */
class Peers {
  readonly #settings: SshSettings;
  readonly #open = new Map<string, Peer>();
  readonly #unknown = new Map<string, number>();
  readonly #all = new Map<string, number>();
  #unknownCount = 0;
  readonly #held: Held = { bytes: 0 };

  constructor(settings: SshSettings) {
    this.#settings = settings;
  }

  /** Takes a connection. @returns `false` if there are too many */
  enter(socket: Socket): boolean {
    const { remoteAddress = "", remotePort } = socket;
    const network = networkOf(remoteAddress);
    const isTooMany =
      this.#open.size >= MOST ||
      this.#unknownCount >= MOST_UNKNOWN ||
      (this.#unknown.get(network) ?? 0) >= MOST_UNKNOWN_OF_NETWORK ||
      (this.#all.get(network) ?? 0) >= MOST_OF_NETWORK;
    const name = `${remoteAddress} ${remotePort}`;
    if (isTooMany || this.#open.has(name)) {
      socket.on("error", () => undefined);
      socket.destroy();
      return false;
    }
    let isUnknown = true;
    const countUnknown = (step: 1 | -1) => {
      this.#unknownCount += step;
      count(this.#unknown, network, step);
    };
    const known = () => {
      if (isUnknown) countUnknown(-1);
      isUnknown = false;
    };
    countUnknown(1);
    count(this.#all, network, 1);
    const peer = new Peer(this.#settings, socket, this.#held, known);
    this.#open.set(name, peer);
    socket.once("close", () => {
      known();
      count(this.#all, network, -1);
      this.#open.delete(name);
    });
    return true;
  }

  /** A client has said that it speaks SSH. @param name its address and port */
  met(client: Connection, name: string): void {
    const peer = this.#open.get(name);
    if (peer) peer.begin(client);
    else client.end();
  }

  /** Ends all connections. */
  end(): void {
    for (const peer of this.#open.values()) peer.end();
  }
}

function count(counts: Map<string, number>, key: string, step: 1 | -1): void {
  const now = (counts.get(key) ?? 0) + step;
  if (now === 0) counts.delete(key);
  else counts.set(key, now);
}

/** What all clients have sent that waits to be read. */
interface Held {
  bytes: number;
}

/** One connection. */
class Peer {
  readonly #settings: SshSettings;
  readonly #socket: Socket;
  readonly #onKnown: () => void;
  readonly #heldOfAll: Held;
  /** Its own part of that. */
  #held = 0;
  readonly #ip: string;
  readonly #base: string;
  readonly #channels = new Set<ServerChannel>();
  /** What ends its sessions. */
  readonly #closers = new Set<() => void>();
  /** Ends it if it has no command, or has not signed in. */
  #timer: NodeJS.Timeout;
  #tries = 0;
  #sessions = 0;
  /** Commands that are running. */
  #running = 0;
  #unused = 0;
  /** By which key it has signed in. */
  #fingerprint = "";

  /** @param onKnown called once the client has signed in */
  constructor(settings: SshSettings, socket: Socket, held: Held, onKnown: () => void) {
    this.#settings = settings;
    this.#socket = socket;
    this.#heldOfAll = held;
    this.#onKnown = onKnown;
    this.#ip = socket.remoteAddress ?? "";
    const { localAddress = "localhost" } = socket;
    const host = localAddress.includes(":") ? `[${localAddress}]` : localAddress;
    this.#base = settings.url ?? `http://${host}`;
    this.#timer = this.#endAfter(settings.signInTimeout);
    socket.setNoDelay(true);
    socket.once("close", () => {
      for (const close of this.#closers) close();
      this.#hold(0);
      clearTimeout(this.#timer);
    });
  }

  #endAfter(milliseconds: number): NodeJS.Timeout {
    return setTimeout(() => this.#socket.destroy(), milliseconds).unref();
  }

  end(): void {
    this.#socket.destroy();
  }

  begin(client: Connection): void {
    client.on("error", () => undefined);
    client.on("authentication", (context) => {
      this.#signIn(context, client).catch((error: unknown) => {
        this.#settings.onError(error);
        client.end();
      });
    });
    client.on("ready", () => {
      this.#onKnown();
      this.#wait();
    });
    client.on("session", (accept, reject) => {
      if (this.#sessions >= MOST_SESSIONS) return reject();
      this.#open(accept());
    });
    this.#socket.on("data", () => this.#guard());
  }

  /** Ends a client that sends more than its windows allow, and does not read from one that takes no answers. */
  #guard(): void {
    const socket = this.#socket;
    let held = 0;
    for (const { readableLength } of this.#channels) {
      held += readableLength;
      if (readableLength > MOST_HELD) this.end();
    }
    this.#hold(held);
    if (held > 0 && this.#heldOfAll.bytes > MOST_HELD_OF_ALL) this.end();
    if (socket.writableLength < MOST_UNSENT || socket.isPaused()) return;
    socket.pause();
    socket.once("drain", () => socket.resume());
  }

  /** Counts what waits to be read. */
  #hold(bytes: number): void {
    this.#heldOfAll.bytes += bytes - this.#held;
    this.#held = bytes;
  }

  /** Ends the connection if no command comes for a while. */
  #wait(): void {
    clearTimeout(this.#timer);
    if (this.#running === 0) this.#timer = this.#endAfter(this.#settings.signInTimeout);
  }

  async #signIn(context: AuthContext, client: Connection): Promise<void> {
    const started = performance.now();
    const reject = () => context.reject(["publickey"]);
    if (context.method !== "publickey") return reject();
    this.#tries += 1;
    if (this.#tries > 2 * MOST_KEYS) {
      client.end();
      return;
    }
    const { key, hashAlgo, signature, blob } = context;
    const read = this.#settings.ssh2.utils.parseKey(key.data);
    // Of keys of RSA, only signatures without SHA-1 have the name of a digest. Those on tokens ssh2 can't read.
    const isWeak =
      !(read instanceof Error) &&
      (read.type === "ssh-dss" || (read.type === "ssh-rsa" && !hashAlgo));
    const fingerprint = fingerprintOf(key.data);
    const found =
      isWeak || context.username !== USER
        ? undefined
        : await findSignInKey(this.#settings.store.reader(), fingerprint);
    const isSigned = signature !== undefined && blob !== undefined;
    const isHeld =
      found &&
      (!isSigned ||
        (read instanceof Error
          ? hasSignedByToken(key.data, signature, blob)
          : read.verify(blob, signature, hashAlgo) === true));
    if (!isHeld) {
      this.#log({ path: "/", status: 401, started });
      return reject();
    }
    if (isSigned) this.#fingerprint = fingerprint;
    context.accept();
  }

  #open(session: Session): void {
    this.#sessions += 1;
    const left = new AbortController();
    let protocol: string | undefined;
    let isUsed = false;
    session.on("env", (accept, reject, { key, val }) => {
      if (key !== "GIT_PROTOCOL" || val.length > MOST_PROTOCOL) return reject?.();
      protocol = val;
      accept?.();
    });
    const run = (accept: () => ServerChannel, line: string | undefined) => {
      const channel = accept();
      if (!channel) return;
      isUsed = true;
      this.#running += 1;
      clearTimeout(this.#timer);
      this.#channels.add(channel);
      channel.on("error", () => undefined);
      const pipe = new Pipe(channel, this.#socket, left.signal);
      this.#perform(line, protocol, pipe, left.signal)
        .catch((error: unknown) => {
          if (!(error instanceof ClientGone)) this.#settings.onError(error);
          channel.exit(REFUSED);
          channel.close();
        })
        .finally(() => {
          this.#running -= 1;
          if (!this.#socket.destroyed) this.#wait();
        });
      left.signal.addEventListener("abort", () => this.#channels.delete(channel));
    };
    session.on("exec", (accept, _, { command }) => run(accept, command));
    session.on("shell", (accept) => run(accept, undefined));
    const close = () => {
      if (left.signal.aborted) return;
      left.abort();
      this.#closers.delete(close);
      this.#sessions -= 1;
      if (!isUsed) this.#unused += 1;
      if (this.#unused > MOST_UNUSED) this.end();
    };
    session.once("close", close);
    this.#closers.add(close);
  }

  /** Does what a command says, and ends it with its status. */
  async #perform(
    line: string | undefined,
    protocol: string | undefined,
    pipe: Pipe,
    signal: AbortSignal,
  ): Promise<void> {
    const command = readCommand(line);
    if (command.kind === "unknown" || command.kind === "unreadable") {
      const { kind, text } = command;
      const what =
        kind === "unknown"
          ? `Unknown command: ${text}`
          : `Failed to parse command: Invalid SSH command: ${text}`;
      await pipe.tell(errorText(what));
      return pipe.end(UNKNOWN);
    }
    try {
      const key = await this.#key();
      if (command.kind === "welcome") {
        const { username } = key;
        this.#log({ path: "/", status: 200, started: performance.now(), user: username });
        await pipe.write(
          `Welcome to GitLab, ${username === null ? "Anonymous" : `@${username}`}!\n`,
        );
      } else if (command.kind === "own") {
        const { name, args } = command;
        const caller = userWith(key);
        if (!caller) throw new Refusal(OWN[name]);
        const asking = { caller, protocol, ip: this.#ip, base: this.#base, signal };
        await performOwn(this.#settings.respond, { ...asking, name, args }, pipe);
      } else {
        const { store, now, respond } = this.#settings;
        const { path } = command;
        const service =
          command.kind === "git"
            ? SERVICE_OF[command.program]
            : command.operation === "upload"
              ? "git-receive-pack"
              : "git-upload-pack";
        const caller = await callerAt(store.reader(), key, path, service, now());
        const asked = { path, caller, protocol, ip: this.#ip, base: this.#base, signal };
        if (command.kind === "lfs") {
          await authenticateLfs(respond, asked, command.operation, pipe);
        } else await performGit(respond, { ...asked, program: command.program }, pipe);
      }
      pipe.end(0);
    } catch (error) {
      const reason =
        error instanceof Refusal
          ? error.message
          : error instanceof ApiError
            ? String(Object.values(error.body)[0])
            : undefined;
      if (reason === undefined) throw error;
      await pipe.tell(errorText(reason));
      pipe.end(REFUSED);
    }
  }

  /** The key that it has signed in with, as it is now: its use counts. @throws Refusal */
  async #key(): Promise<SignInKey> {
    const { store, now, tokenUsage } = this.#settings;
    const at = now();
    const key = await findSignInKey(store.reader(), this.#fingerprint);
    if (!key) throw new Refusal("This SSH key has been removed.");
    requireUsable(key, at);
    const { key_id: id, last_used_at: lastUsedAt } = key;
    tokenUsage.tokenUsed({ kind: "key", id, lastUsedAt }, this.#ip, at);
    tokenUsage.userActive(key.user_id ?? 0, at);
    return key;
  }

  #log({
    path,
    status,
    started,
    user,
  }: Pick<LogEntry, "path" | "status"> & { started: number; user?: string | null }): void {
    const { log, now } = this.#settings;
    log?.({
      time: new Date(now()).toISOString(),
      method: "SSH",
      path,
      status,
      duration: Math.round((performance.now() - started) * 100) / 100,
      ip: this.#ip,
      request_id: crypto.randomUUID(),
      protocol: "ssh",
      ...(user && { user }),
    });
  }
}
