/** Bytes and rules of a file of redirects that are read, as in GitLab; what follows is ignored. */
export const MOST_BYTES = 64 * 1024;
const MOST_RULES = 1000;

/** A rule of a site: where a path leads. */
export interface Redirect {
  /** Its segments: words, `:name` for any one, and `*` at the end for any number of them. */
  readonly from: readonly string[];
  readonly to: string;
  /** 200 shows what is there, without a redirect. */
  readonly status: 200 | 301 | 302;
}

const STATUSES = [200, 301, 302] as const;
const ABSOLUTE = /^https?:\/\//i;

/**
 * Reads a file `_redirects`: rules that GitLab knows, one a line. Others are left out: with conditions, with a domain that
 * they are for, or that replace files.
 */
export function readRedirects(text: string): Redirect[] {
  const rules: Redirect[] = [];
  for (const line of text.split("\n")) {
    if (rules.length === MOST_RULES) break;
    const [from = "", to = "", code = "301", ...rest] =
      line.split("#", 1)[0]?.trim().split(/\s+/) ?? [];
    const status = STATUSES.find((one) => String(one) === code);
    const isOwn = to.startsWith("/") && !to.startsWith("//");
    const isTarget = isOwn || (ABSOLUTE.test(to) && status !== 200);
    if (!from.startsWith("/") || from.includes("?") || !isTarget || !status || rest.length > 0)
      continue;
    const segments = segmentsOf(from);
    const splat = segments.indexOf("*");
    if (splat >= 0 && splat < segments.length - 1) continue;
    rules.push({ from: segments, to, status });
  }
  return rules;
}

/** The parts of a path between its slashes. */
const segmentsOf = (path: string): string[] => path.split("/").filter((part) => part !== "");

/**
 * Where a path leads by the first rule that fits.
 *
 * @param path as it is in the URL
 * @param isOnly whether rules that lead to another host are left out
 * @returns what it leads to: a URL, or a path with one slash at its beginning
 */
export function redirected(
  rules: readonly Redirect[],
  path: string,
  isOnly: "this host" | "any",
): Pick<Redirect, "to" | "status"> | undefined {
  const asked = segmentsOf(path);
  for (const { from, to, status } of rules) {
    if (isOnly === "this host" && ABSOLUTE.test(to)) continue;
    const values = valuesOf(from, asked);
    if (!values) continue;
    const target = to.replace(/:(\w+)/g, (text, name) => values.get(name) ?? text);
    // What was put in may begin with more slashes, or with what browsers take for one: that would be another host.
    const plain = ABSOLUTE.test(to) ? target : target.replaceAll("\\", "%5C").replace(/^\/+/, "/");
    // A header has no other characters.
    const sent = plain.replace(/[^!-~]/gu, encodeURIComponent);
    if (sent !== path) return { to: sent, status };
  }
  return undefined;
}

/** What the placeholders of a rule stand for in a path; `undefined` if it does not fit. */
function valuesOf(
  from: readonly string[],
  asked: readonly string[],
): ReadonlyMap<string, string> | undefined {
  const values = new Map<string, string>();
  const hasSplat = from.at(-1) === "*";
  const fixed = hasSplat ? from.slice(0, -1) : from;
  if (hasSplat ? asked.length < fixed.length : asked.length !== fixed.length) return undefined;
  for (const [at, part] of fixed.entries()) {
    if (/^:\w+$/.test(part)) values.set(part.slice(1), asked[at] as string);
    else if (part !== asked[at]) return undefined;
  }
  if (hasSplat) values.set("splat", asked.slice(fixed.length).join("/"));
  return values;
}
