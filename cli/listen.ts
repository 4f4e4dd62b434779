import type { serve } from "../src/node.ts";
import { Failure } from "./errors.ts";

/** Loads the server of this runtime: Bun (also in the binary of `pm-cli`), Deno or Node. */
export async function loadServer(): Promise<{ serve: typeof serve }> {
  if (process.versions["bun"]) return import("../src/bun.ts");
  if (process.versions["deno"]) return import("../src/deno.ts");
  return import("../src/node.ts");
}

/**
 * Why a server can't listen, and what to do.
 *
 * @param of the beginning of the names of the options with this address, which may be settings too; `null` for
 *   `--host` and `--port` of a command that takes no settings
 */
export function refusal(
  error: NodeJS.ErrnoException,
  host: string,
  port: number,
  of: "" | "metrics-" | "ssh-" | null = "",
): Error {
  const option = (name: "host" | "port") =>
    of === null
      ? `--${name}`
      : `--${of}${name} (or PM_${of.replace("-", "_").toUpperCase()}${name.toUpperCase()})`;
  switch (error.code) {
    case "EADDRINUSE":
      return new Failure(
        `port ${port} on ${host} is in use: stop what uses it, or choose another with ${option("port")}, 0 for a free one`,
      );
    case "EACCES":
      return new Failure(
        `no permission to listen on port ${port}: choose one above 1023 with ${option("port")}`,
      );
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return new Failure(
        `${host} is not an address of this machine: choose another with ${option("host")}, such as 127.0.0.1 or 0.0.0.0`,
      );
    default:
      return error;
  }
}
