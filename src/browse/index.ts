import { hostSignIn } from "../auth/authenticators/host.ts";
import { sessionCookie } from "../auth/authenticators/session.ts";
import type { Mount } from "../core/http/mount.ts";
import { showErrorOrSignIn } from "../pages/mount.ts";
import { issuablePages } from "./issuables.ts";
import { otherPages } from "./others.ts";

/** Pages of projects, for people: what the API tells, at GitLab's addresses. */
export const BROWSE: Mount = {
  name: "Pages of projects",
  base: "",
  authenticators: [hostSignIn, sessionCookie],
  hasForms: true,
  showError: showErrorOrSignIn,
  resources: [
    { name: "Pages of projects", migrations: [], routes: [...issuablePages, ...otherPages] },
  ],
};
