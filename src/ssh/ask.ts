import { Refusal } from "../auth/ssh-keys.ts";
import type { Caller } from "../core/access/caller.ts";
import { type Incoming, isStreamed, type Reply, type Respond } from "../core/http/incoming.ts";
import { hostOf } from "./hosts.ts";

/** Who asks the server's own pipeline for what a command is about. */
export interface Asking {
  readonly caller: Caller;
  /** What the client says of the version of the protocol. */
  readonly protocol: string | undefined;
  /** The address of the client. */
  readonly ip: string;
  /** The public address of the server. */
  readonly base: string;
  /** Aborted once the client has left. */
  readonly signal: AbortSignal;
}

/** What the server is asked. */
export interface Asked {
  readonly path: string;
  readonly method: "GET" | "POST";
  readonly query?: string;
  readonly body?: AsyncIterable<Uint8Array>;
  /** The type of the body. */
  readonly type?: string;
}

/** Makes a request to the server's own pipeline. @throws Refusal with the text of an answer that is an error */
export async function ask(
  respond: Respond,
  { caller, protocol, ip, base, signal }: Asking,
  { path, method, query = "", body, type }: Asked,
): Promise<Reply> {
  const headers: Readonly<Record<string, string | undefined>> = {
    "git-protocol": protocol,
    ...(body && { "content-type": type, "transfer-encoding": "chunked" }),
  };
  const incoming: Incoming = {
    method,
    path,
    query,
    header: (wanted) => headers[wanted],
    body: () => body,
    base,
    ip,
    ownsRoot: true,
    isLast: true,
    hasLeft: () => signal.aborted,
    host: hostOf(caller),
  };
  const reply = (await respond(incoming)) as Reply;
  if (reply.status !== 200) throw new Refusal(await textOf(reply));
  return reply;
}

/** The whole text of an answer. */
export async function textOf({ body }: Reply): Promise<string> {
  if (body === null) return "";
  if (!isStreamed(body)) return typeof body === "string" ? body : Buffer.from(body).toString();
  const parts: Uint8Array[] = [];
  for await (const part of body.chunks()) parts.push(part);
  return Buffer.concat(parts).toString();
}
