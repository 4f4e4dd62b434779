import { hostSignIn } from "../auth/authenticators/host.ts";
import { sessionCookie } from "../auth/authenticators/session.ts";
import { notFound } from "../core/errors.ts";
import type { Mount } from "../core/http/mount.ts";
import { showErrorOrSignIn } from "../pages/mount.ts";
import { codePages } from "./code.ts";
import { issuablePages } from "./issuables.ts";
import { otherPages } from "./others.ts";

/** Pages of projects, for people: what the API tells, at GitLab's addresses. */
export const BROWSE: Mount = {
  name: "Pages of projects",
  base: "",
  authenticators: [hostSignIn, sessionCookie],
  hasForms: true,
  // As in GitLab, nobody is told of a page that they may not see.
  showError: (error, visit) =>
    showErrorOrSignIn(error.status === 403 && visit.caller ? notFound() : error, visit),
  resources: [
    {
      name: "Pages of projects",
      migrations: [],
      routes: [...issuablePages, ...codePages, ...otherPages],
    },
  ],
};
