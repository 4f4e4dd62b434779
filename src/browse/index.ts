import { hostSignIn } from "../auth/authenticators/host.ts";
import { sessionCookie } from "../auth/authenticators/session.ts";
import { type ApiError, notFound, unknownRoute } from "../core/errors.ts";
import { isSafe } from "../core/http/incoming.ts";
import type { Mount } from "../core/http/mount.ts";
import { wantsPage } from "../core/http/router.ts";
import type { PageContext, RawReply } from "../core/resource.ts";
import { jsonOf, showErrorOrSignIn, showErrorPage } from "../pages/mount.ts";
import { accountPages, notificationPages } from "./account.ts";
import { activityPages } from "./activity.ts";
import { adminPages } from "./admin.ts";
import { boardPages } from "./boards.ts";
import { codePages } from "./code.ts";
import { codeForms } from "./code-forms.ts";
import { documentPages, personalSnippetPages } from "./documents.ts";
import { dashboardPages, issuableActions, issuablePages } from "./issuables.ts";
import { memberPages } from "./members.ts";
import { isName, movedTo, namespacePage, newerPath, sitePages } from "./namespaces.ts";
import { pipelinePages } from "./pipelines.ts";
import { placeSettingsPages } from "./place-settings.ts";
import { planningPages } from "./planning.ts";
import { refPages } from "./refs.ts";
import { reviewPages } from "./review.ts";
import { searchPages } from "./search.ts";

/**
 * As in GitLab, nobody is told of a page that they may not see. Programs get JSON where no group, project or user is, and
 * where there is no page.
 */
function showError(error: ApiError, visit: PageContext): RawReply {
  const { request, caller } = visit;
  const newer = error.status === 404 ? newerPath(request.path) : undefined;
  if (newer !== undefined) return movedTo(visit, newer);
  // As `unknownRoute` says it.
  const isUnknown = error.status === 404 && "error" in error.body;
  if (isUnknown) return wantsPage(request) ? showErrorPage(error, visit) : jsonOf(error);
  if (error.status === 404 && isName(request.path) && !wantsPage(request)) {
    return jsonOf(unknownRoute());
  }
  // A number that can't be read, as in `/-/issues/none`, is one that there isn't.
  const isNone = error.status === 400 && request.query === "" && isSafe(request);
  const isHidden = isNone || (error.status === 403 && caller !== undefined);
  return showErrorOrSignIn(isHidden ? notFound() : error, visit);
}

const SHARED = {
  base: "",
  authenticators: [hostSignIn, sessionCookie],
  hasForms: true,
  showError,
} as const;

/** Pages for people of what groups and projects have: what the API tells, at GitLab's addresses. */
const OF_PLACES: Mount = {
  name: "Pages of groups and projects",
  ...SHARED,
  resources: [
    {
      name: "Pages of groups and projects",
      migrations: [],
      routes: [
        ...issuablePages,
        ...issuableActions,
        ...boardPages,
        ...codePages,
        ...reviewPages,
        ...codeForms,
        ...refPages,
        ...pipelinePages,
        ...planningPages,
        ...documentPages,
        ...memberPages,
        ...placeSettingsPages,
        ...notificationPages,
      ],
    },
  ],
};

/** Pages of the whole site. */
const OF_SITE: Mount = {
  name: "Pages of the site",
  ...SHARED,
  isOfSite: true,
  unknownPage: namespacePage,
  resources: [
    {
      name: "Pages of the site",
      migrations: [],
      routes: [
        ...sitePages,
        ...activityPages,
        ...dashboardPages,
        ...personalSnippetPages,
        ...searchPages,
        ...adminPages,
        ...accountPages,
      ],
    },
  ],
};

/** All pages of what the API tells: those of groups and projects, and of the site. */
export const BROWSE: readonly Mount[] = [OF_PLACES, OF_SITE];
