import { Buffer } from "node:buffer";
import { Refusal } from "../auth/ssh-keys.ts";
import { isStreamed, type Reply, type Respond } from "../core/http/incoming.ts";
import { RefusedError } from "../git/errors.ts";
import { FLUSH, Input } from "../git/pkt-line.ts";
import { headOf } from "../git-http/index.ts";
import { type Asked, type Asking, ask } from "./ask.ts";
import type { Pipe } from "./channels.ts";
import type { Program } from "./command.ts";
import { LFS_PROGRAM, NOTICE } from "./mount.ts";
import { noticeText } from "./texts.ts";

/** A command of Git, and whose it is. */
export interface GitCommand extends Asking {
  readonly program: Program;
  /** Of a project, or with `.wiki` of its wiki. */
  readonly path: string;
}

/** A request below the path of a repository. */
const below = (
  { path }: Pick<GitCommand, "path">,
  { name, ...asked }: Omit<Asked, "path" | "type"> & { readonly name: string },
): Asked => ({
  ...asked,
  path: `/${path.split("/").map(encodeURIComponent).join("/")}.git/${name}`,
  ...(asked.body && { type: `application/x-${name}-request` }),
});

/**
 * Performs a command of Git, as requests to the server's own pipeline.
 *
 * @throws Refusal with the text of an answer that is an error
 * @throws ClientGone
 */
export async function performGit(respond: Respond, command: GitCommand, pipe: Pipe): Promise<void> {
  if (command.program === "git-receive-pack") return receive(respond, command, pipe);
  const reply = await ask(
    respond,
    command,
    below(command, { name: command.program, method: "POST", body: pipe }),
  );
  await send(reply, pipe);
}

/**
 * Tells git-lfs where the objects of a project are, and with what it transfers them.
 *
 * @throws Refusal with the text of an answer that is an error
 * @throws ClientGone
 */
export async function authenticateLfs(
  respond: Respond,
  command: Omit<GitCommand, "program">,
  operation: string,
  pipe: Pipe,
): Promise<void> {
  const query = new URLSearchParams({ operation }).toString();
  await send(
    await ask(respond, command, below(command, { name: LFS_PROGRAM, method: "GET", query })),
    pipe,
  );
}

/** Sends an answer, without its first `skipped` bytes. */
async function send({ headers, body }: Reply, pipe: Pipe, skipped = 0): Promise<void> {
  const notice = headers[NOTICE];
  if (notice !== undefined) await pipe.tell(noticeText(decodeURIComponent(notice)));
  if (body === null) return;
  if (!isStreamed(body)) {
    const bytes = typeof body === "string" ? Buffer.from(body) : body;
    return pipe.write(bytes.subarray(skipped));
  }
  let left = skipped;
  for await (const part of body.chunks()) {
    const from = Math.min(left, part.length);
    left -= from;
    await pipe.write(part.subarray(from));
  }
}

/** The service as clients of HTTP name it. */
const SERVICE = "git-receive-pack";

/** Receives a push: what HTTP has two requests for comes on one connection. */
async function receive(respond: Respond, command: GitCommand, pipe: Pipe): Promise<void> {
  const query = `service=${SERVICE}`;
  const told = await ask(
    respond,
    command,
    below(command, { name: "info/refs", method: "GET", query }),
  );
  await send(told, pipe, headOf(SERVICE).length);
  const sent = pipe[Symbol.asyncIterator]();
  const commands = await readCommands(sent);
  // A client that only looks.
  if (commands.length === 0) return;
  const body = joined(commands, sent);
  const reply = await ask(
    respond,
    command,
    below(command, { name: SERVICE, method: "POST", body }),
  );
  await send(reply, pipe);
}

/** The most bytes that are held of the commands of a push: as many as their number allows. */
const MOST_COMMANDS = 16 * 1024 * 1024;

/**
 * The beginning of a push, up to the first bytes of its pack if there is one: between the two a client may work for a while,
 * which does not count as sending slowly.
 *
 * @returns nothing if there is no command
 */
async function readCommands(sent: AsyncIterator<Uint8Array>): Promise<Uint8Array[]> {
  const held: Uint8Array[] = [];
  let bytes = 0;
  const copied = {
    async *[Symbol.asyncIterator]() {
      for (let next = await sent.next(); !next.done; next = await sent.next()) {
        held.push(next.value);
        bytes += next.value.length;
        if (bytes > MOST_COMMANDS) throw new Refusal("The push has too many commands.");
        yield next.value;
      }
    },
  };
  const input = new Input(copied);
  let commands = 0;
  let hasPack = false;
  let hasOptions = false;
  try {
    for (let line = await input.packet(); typeof line === "string"; line = await input.packet()) {
      if (commands === 0) hasOptions = /\bpush-options\b/.test(line.split("\0", 2)[1] ?? "");
      commands += 1;
      hasPack ||= !/^[0-9a-f]{40} 0{40} /.test(line) && !line.startsWith("shallow ");
    }
    if (commands === 0) return [];
    if (hasOptions) while (![undefined, FLUSH].includes((await input.packet()) as number));
    if (hasPack) await input.fill(1);
  } catch (error) {
    // Whoever reads it again answers it.
    if (!(error instanceof RefusedError)) throw error;
  }
  return held;
}

async function* joined(
  before: readonly Uint8Array[],
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield* before;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}
