import { tokensAsPasswords } from "../auth/authenticators/basic.ts";
import type { Mount } from "../core/http/mount.ts";
import { migrations } from "../resources/lfs/table.ts";
import { LFS_JSON, lfsError, refusal, showError } from "./errors.ts";
import { lockRoutes } from "./locks.ts";
import { lfsToken } from "./tokens.ts";
import { transferRoutes } from "./transfers.ts";

/** What clients from before the batch API are told, whatever there is. */
const OLD_CLIENT =
  "Server supports batch API only, please update your Git LFS client to version 1.0.1 and up.";

/** Git LFS: `/<path of a project>.git/info/lfs`, and `/<path>.git/gitlab-lfs` for the objects. */
export const LFS: Mount = {
  name: "Git LFS",
  base: "",
  owns: (path) => /^\/.+\.git\/(info\/lfs|gitlab-lfs)\//.test(path),
  unknown: (path) =>
    /\/info\/lfs\/objects(\/[0-9a-f]{64})?$/.test(path) ? lfsError(501, OLD_CLIENT) : refusal(404),
  authenticators: [lfsToken, ...tokensAsPasswords],
  countsRequests: true,
  contentType: LFS_JSON,
  showError,
  resources: [{ name: "Git LFS", migrations, routes: [...transferRoutes, ...lockRoutes] }],
};
