import type { Outgoing } from "../../core/outgoing.ts";
import type { Secrets } from "../../core/secrets.ts";
import { RefusedError } from "../../git/errors.ts";
import { RemoteError } from "../../git/remote.ts";
import type { WorkerSettings, Working } from "../../jobs/worker.ts";
import { ForbiddenAddress, UnknownHost } from "../../outgoing/addresses.ts";

/** What the workers of mirrors need. */
export interface MirrorSettings extends Working {
  readonly secrets: Secrets;
  readonly outgoing: Outgoing;
  /** Milliseconds between two looks at an empty queue. Default {@link INTERVAL}. */
  readonly interval?: number | undefined;
}

/** Mirrors that a process updates at once. */
const LANES = 2;
const INTERVAL = 1000;
/** Milliseconds that one update may take. */
export const LIMIT = 600_000;

/** The error of an update that takes longer than {@link LIMIT}. */
export const TOO_SLOW = "the update took longer than ten minutes";
/** Updates that fail before a mirror waits longer, and the first pause between them in milliseconds. */
export const TRIES = 3;
export const FIRST_RETRY = 60_000;
/** References that an error names. */
const MOST_NAMED = 20;

/** A worker that updates mirrors. @param name of its queue */
export function mirrorWorker(
  { store, now, leases, onError, interval = INTERVAL }: MirrorSettings,
  name: string,
  work: WorkerSettings["work"],
): WorkerSettings {
  const shared = { store, now, leases, onError };
  return { ...shared, name, announced: false, interval, lanes: LANES, work };
}

/** Why an update failed, without secrets. @throws what is no failure of the remote */
export function reasonOf(error: unknown): string {
  if (error instanceof RefusedError) return error.message;
  const isOfRemote =
    error instanceof RemoteError ||
    error instanceof ForbiddenAddress ||
    error instanceof UnknownHost;
  if (isOfRemote) return error.message;
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (
    error instanceof Error &&
    (syscall !== undefined || /^(E|CERT_|ERR_TLS|UNABLE_|SELF_|DEPTH_)/.test(code ?? ""))
  ) {
    return `the server can't be reached: ${code}`;
  }
  throw error;
}

/** What of an update was not done, in sections of a title and some lines; `undefined` if all was. */
export function leftOut(
  sections: readonly (readonly [title: string, lines: readonly string[]])[],
): string | undefined {
  const texts = sections.flatMap(([title, lines]) => {
    if (lines.length === 0) return [];
    const more = lines.length > MOST_NAMED ? [`and ${lines.length - MOST_NAMED} more`] : [];
    return [title, [...lines.slice(0, MOST_NAMED), ...more].join("\n")];
  });
  return texts.length === 0 ? undefined : texts.join("\n\n");
}
