import { tokensAsPasswords } from "../auth/authenticators/basic.ts";
import { feedToken } from "../auth/authenticators/feed.ts";
import { hostSignIn } from "../auth/authenticators/host.ts";
import { accessToken } from "../auth/authenticators/oauth.ts";
import { personalToken } from "../auth/authenticators/personal.ts";
import { sessionCookie } from "../auth/authenticators/session.ts";
import { type ApiError, unauthorized } from "../core/errors.ts";
import { isSafe } from "../core/http/incoming.ts";
import type { Mount } from "../core/http/mount.ts";
import { wantsPage } from "../core/http/router.ts";
import { type PageContext, RawReply, type Route } from "../core/resource.ts";
import { showErrorPage, toSignIn } from "../pages/mount.ts";
import { jobResource } from "../resources/jobs/index.ts";
import { mergeRequestResource } from "../resources/merge-requests/index.ts";
import { releaseResource } from "../resources/releases/index.ts";
import { siteAddresses } from "../resources/sites/addresses.ts";
import { snippetResource } from "../resources/snippets/index.ts";
import { uploadResource } from "../resources/uploads/index.ts";
import { wikiResource } from "../resources/wikis/index.ts";
import { badgeAddresses } from "./badges.ts";
import { codeAddresses } from "./code.ts";
import { evidenceAddresses } from "./evidences.ts";
import { feedAddresses, isFeed } from "./feeds.ts";
import { goAddresses } from "./go-get.ts";
import { reportAddresses } from "./reports.ts";
import { unsubscribingAddresses } from "./unsubscribing.ts";
import { userAddresses } from "./users.ts";

/** What the API has below a project's path that has an address, too, with the same parameters. */
const OF_PROJECT: readonly (readonly [path: string, address: string])[] = [
  ["/jobs/:job_id/artifacts", "/-/jobs/:job_id/artifacts/download"],
  ["/jobs/:job_id/artifacts/:artifact_path*", "/-/jobs/:job_id/artifacts/raw/:artifact_path*"],
  ["/jobs/:job_id/trace", "/-/jobs/:job_id/raw"],
  ["/jobs/artifacts/:ref_name*/download", "/-/jobs/artifacts/:ref_name*/download"],
  [
    "/jobs/artifacts/:ref_name*/raw/:artifact_path*",
    "/-/jobs/artifacts/:ref_name*/raw/:artifact_path*",
  ],
  ["/merge_requests/:merge_request_iid/raw_diffs", "/-/merge_requests/:merge_request_iid.diff"],
  ["/releases/permalink/latest/:suffix_path*", "/-/releases/permalink/latest/:suffix_path*"],
  [
    "/releases/:tag_name/downloads/:direct_asset_path*",
    "/-/releases/:tag_name/downloads/:direct_asset_path*",
  ],
  ["/snippets/:snippet_id/raw", "/-/snippets/:snippet_id/raw"],
  [
    "/snippets/:snippet_id/files/:ref/:file_path/raw",
    "/-/snippets/:snippet_id/raw/:ref/:file_path*",
  ],
  ["/uploads/:secret/:file_name", "/uploads/:secret/:file_name"],
  ["/wikis/uploads/:secret/:file_name", "/-/wikis/uploads/:secret/:file_name"],
];

const API_ROUTES = [
  ...[
    jobResource,
    mergeRequestResource,
    releaseResource,
    snippetResource,
    uploadResource,
    wikiResource,
  ],
].flatMap(({ routes }) => routes);

/** A route of the API at another path. @throws TypeError if there is none */
function routeAt(path: string, address: string): Route {
  const found = API_ROUTES.find((route) => route.method === "GET" && route.path === path);
  if (!found) throw new TypeError(`There is no GET ${path}`);
  return { ...found, path: address };
}

const sameAddresses: readonly Route[] = [
  ...OF_PROJECT.map(([path, address]) => routeAt(`/projects/:id${path}`, `/:id*${address}`)),
  routeAt(
    "/groups/:id/wikis/uploads/:secret/:file_name",
    "/groups/:id*/-/wikis/uploads/:secret/:file_name",
  ),
  routeAt("/snippets/:snippet_id/raw", "/-/snippets/:snippet_id/raw"),
  routeAt(
    "/snippets/:snippet_id/files/:ref/:file_path/raw",
    "/-/snippets/:snippet_id/raw/:ref/:file_path*",
  ),
];

/** Visitors who are not signed in are sent to sign in whether or not there is something, as in GitLab. */
function showError(problem: ApiError, visit: PageContext): RawReply {
  const { request, caller } = visit;
  let error = problem;
  if (!caller && isSafe(request) && [401, 403, 404].includes(error.status)) {
    const signIn = isFeed(request.path) ? undefined : toSignIn(visit);
    if (signIn) return signIn;
    if (isFeed(request.path) && error.status !== 401) error = unauthorized();
  }
  if (!isFeed(request.path) && wantsPage(request)) return showErrorPage(error, visit);
  const [reason] = Object.values(error.body);
  const type = { "content-type": "text/plain; charset=utf-8" };
  return new RawReply(error.status, { ...error.headers, ...type }, `${reason}\n`);
}

/**
 * Addresses outside of the API that programs call, most of them below the path of a project: files, archives, patches,
 * artifacts, downloads, keys, feeds.
 */
export const PROGRAM_ADDRESSES: Mount = {
  name: "Addresses for programs",
  base: "",
  authenticators: [
    feedToken,
    personalToken,
    accessToken,
    hostSignIn,
    sessionCookie,
    ...tokensAsPasswords,
  ],
  countsRequests: true,
  showError,
  resources: [
    {
      name: "Addresses for programs",
      migrations: [],
      routes: [
        ...codeAddresses,
        ...badgeAddresses,
        ...sameAddresses,
        ...feedAddresses,
        ...userAddresses,
        ...unsubscribingAddresses,
        ...goAddresses,
        ...evidenceAddresses,
        ...reportAddresses,
        ...siteAddresses,
      ],
    },
  ],
};
