import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ForbiddenAddress } from "./addresses.ts";
import { send } from "./request.ts";

/** Where CI/CD configurations include files from that are no project's of this server. */
export interface IncludeSources {
  /**
   * A file of another server.
   *
   * @param seconds for which it may be kept
   * @returns its text, or why it could not be had, as the end of a sentence
   */
  remote(url: string, seconds: number): Promise<{ readonly text: string } | string>;
  /** A template, by its name with `.gitlab-ci.yml`; `undefined` if there is none. */
  template(name: string): Promise<string | undefined>;
}

/** What an administrator says about files that CI/CD configurations include. */
export interface IncludeOptions {
  /** Whether they may be of other servers. Default false. */
  remote?: boolean;
  /**
   * The templates that `include:template` knows besides the server's own: texts by name, such as
   * `Jobs/Build.gitlab-ci.yml`; or a folder of such files; or the URL of one, which ends with `/`.
   */
  templates?: string | Readonly<Record<string, string>>;
}

/** A longer file is no configuration, in bytes. */
const MOST_BYTES = 512 * 1024;
const TIMEOUT_MILLISECONDS = 10_000;
const MOST_REDIRECTS = 5;
/** Characters of files that are kept at once. */
const MOST_KEPT = 8 * 1024 * 1024;

const SWITCHED_OFF =
  "this server does not allow it: its administrator can, by the option includes.remote or --remote-includes on";

/** A file that is kept until an instant, in epoch milliseconds. */
interface Kept {
  readonly text: string;
  readonly until: number;
}

/**
 * Finds the files that configurations include which are no project's.
 *
 * @param own finds one of the server's own templates, by its name without `.gitlab-ci.yml`
 * @param allowLocal whether this machine and its networks may be asked
 */
export function includeSources(
  { remote = false, templates }: IncludeOptions,
  {
    allowLocal,
    own,
    now,
  }: {
    readonly allowLocal: boolean;
    readonly own: (name: string) => Promise<string | undefined>;
    readonly now: () => number;
  },
): IncludeSources {
  const kept = new Map<string, Kept>();
  let length = 0;
  const forget = (url: string) => {
    length -= kept.get(url)?.text.length ?? 0;
    kept.delete(url);
  };
  const keep = (url: string, text: string, until: number) => {
    forget(url);
    kept.set(url, { text, until });
    length += text.length;
    for (const oldest of kept.keys()) {
      if (length <= MOST_KEPT) break;
      forget(oldest);
    }
  };
  const fetchKept = async (url: string, seconds: number) => {
    const known = kept.get(url);
    if (seconds > 0 && known && now() < known.until) return known;
    const answer = await fetchText(url, allowLocal);
    if (typeof answer !== "string" && seconds > 0) keep(url, answer.text, now() + seconds * 1000);
    return answer;
  };
  return {
    remote: async (url, seconds) => (remote ? fetchKept(url, seconds) : SWITCHED_OFF),
    template: async (name) =>
      (await templateOf(name, templates, fetchKept)) ?? own(name.replace(/\.gitlab-ci\.yml$/, "")),
  };
}

/** Templates of another server are kept so long. */
const TEMPLATE_SECONDS = 3600;

async function templateOf(
  name: string,
  templates: IncludeOptions["templates"],
  fetchKept: IncludeSources["remote"],
): Promise<string | undefined> {
  if (typeof templates !== "string") {
    return templates && Object.hasOwn(templates, name) ? templates[name] : undefined;
  }
  if (!/^[\w.-]+(\/[\w.-]+)*$/.test(name) || name.split("/").includes("..")) return undefined;
  if (/^https?:/i.test(templates)) {
    const answer = await fetchKept(new URL(name, templates).href, TEMPLATE_SECONDS);
    return typeof answer === "string" ? undefined : answer.text;
  }
  try {
    return await readFile(join(templates, name), "utf8");
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (["ENOENT", "ENOTDIR", "EISDIR"].includes(code)) return undefined;
    throw error;
  }
}

/** Fetches a text, and follows redirects. @returns why there is none, as the end of a sentence */
async function fetchText(address: string, allowLocal: boolean): Promise<{ text: string } | string> {
  const signal = AbortSignal.timeout(TIMEOUT_MILLISECONDS);
  let url = new URL(address);
  try {
    for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects += 1) {
      const headers = { accept: "text/plain, application/yaml, */*" };
      const request = { url, method: "GET", headers, verifies: true, allowLocal } as const;
      const answer = await send(request, signal);
      const { statusCode = 0 } = answer;
      const { location } = answer.headers;
      if (statusCode >= 300 && statusCode < 400 && location !== undefined) {
        answer.destroy();
        if (!URL.canParse(location, url)) return "of a socket error";
        url = new URL(location, url);
        if (!/^https?:$/.test(url.protocol)) return "of a socket error";
        continue;
      }
      if (statusCode !== 200) {
        answer.destroy();
        return `of HTTP code \`${statusCode}\` error`;
      }
      const chunks: Buffer[] = [];
      let length = 0;
      for await (const chunk of answer as AsyncIterable<Buffer>) {
        length += chunk.length;
        if (length > MOST_BYTES) {
          answer.destroy();
          return "it is too large";
        }
        chunks.push(chunk);
      }
      return { text: Buffer.concat(chunks).toString("utf8") };
    }
    return "of too many redirects";
  } catch (error) {
    if (error instanceof ForbiddenAddress) return error.message;
    return signal.aborted ? "of a timeout error" : "of a socket error";
  }
}
