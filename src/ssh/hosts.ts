import type { Caller } from "../core/access/caller.ts";
import type { HostRequest } from "../core/http/incoming.ts";

/** Who sends each command: they have signed in before. */
const callers = new WeakMap<HostRequest, Caller>();

/** What stands for a command as the request of a host. */
export function hostOf(caller: Caller): HostRequest {
  const host = {} as HostRequest;
  callers.set(host, caller);
  return host;
}

/** Who has signed in for a request; `undefined` if it is none of {@link hostOf}. */
export const callerOn = (host: HostRequest): Caller | undefined => callers.get(host);
