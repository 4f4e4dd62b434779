import type { IncomingHttpHeaders } from "node:http";

/** What is imported from: a GitLab server, or a server that has repositories with issues and pull requests. */
export type SourceType = "gitlab" | "github" | "gitea";

/** How the API of a kind of servers is asked. */
export interface Dialect {
  /** What people call these servers. */
  readonly title: string;
  /** What GitLab calls its importer. */
  readonly importType: "gitlab_migration" | "github" | "gitea";
  /** The address of the API of a server. */
  readonly apiOf: (url: URL) => URL;
  readonly headersOf: (token: string) => Readonly<Record<string, string>>;
  /** Entries of a page, and what says how many these are. */
  readonly pageSize: number;
  readonly sizeName: string;
  /** The parts in which a page is asked for that is too large. */
  readonly shares: number;
  /** The longest pause that is waited for, in milliseconds. */
  readonly longestPause: number;
  /** Whether a page with some headers is followed by another; `undefined` if they do not say. */
  readonly hasNext: (headers: IncomingHttpHeaders) => boolean | undefined;
  /** The path of what is told of somebody, and what of that is the address that they show. */
  readonly profileOf: (id: number, username: string) => string;
  readonly addressIn: "public_email" | "email";
  /** Whether people are who has the same name here. */
  readonly matchesNames: boolean;
}

const TEN_MINUTES = 600_000;
const HOUR = 3_600_000;

/** The path of a server, and another one below it. */
function below(url: URL, path: string): URL {
  const at = new URL(url);
  at.pathname = url.pathname.replace(/\/$/, "") + path;
  return at;
}

/** Of another server whose name somebody has, nobody here knows whether they are the same. */
const FORGE = {
  // Every list that goes on says so (RFC 8288), whether its last page is full or not.
  hasNext: ({ link }: IncomingHttpHeaders) => /;\s*rel="?next"?/i.test(String(link ?? "")),
  profileOf: (_: number, username: string) => `users/${encodeURIComponent(username)}`,
  addressIn: "email",
  matchesNames: false,
} as const;

/** How each kind of servers is asked. */
export const DIALECTS: Readonly<Record<SourceType, Dialect>> = {
  gitlab: {
    title: "GitLab",
    importType: "gitlab_migration",
    apiOf: (url) => below(url, "/api/v4"),
    headersOf: (token) => ({ accept: "application/json, */*", "private-token": token }),
    ...{ pageSize: 100, sizeName: "per_page", shares: 10, longestPause: TEN_MINUTES },
    hasNext: ({ "x-next-page": next }) => (next === undefined ? undefined : next !== ""),
    profileOf: (id) => `users/${id}`,
    addressIn: "public_email",
    matchesNames: true,
  },
  github: {
    title: "GitHub",
    importType: "github",
    apiOf: (url) =>
      url.hostname === "github.com" ? new URL("https://api.github.com") : below(url, "/api/v3"),
    headersOf: (token) => ({
      accept: "application/vnd.github+json",
      authorization: `Bearer ${token}`,
      "x-github-api-version": "2022-11-28",
    }),
    // Whoever has used up what they may ask waits until the hour is over.
    ...{ pageSize: 100, sizeName: "per_page", shares: 10, longestPause: HOUR + TEN_MINUTES },
    ...FORGE,
  },
  gitea: {
    title: "Gitea",
    importType: "gitea",
    apiOf: (url) => below(url, "/api/v1"),
    headersOf: (token) => ({ accept: "application/json", authorization: `token ${token}` }),
    // As many as servers of this kind give at most, unless they are told otherwise.
    ...{ pageSize: 50, sizeName: "limit", shares: 50, longestPause: TEN_MINUTES },
    ...FORGE,
  },
};
