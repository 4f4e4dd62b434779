import { tokensAsPasswords } from "../auth/authenticators/basic.ts";
import type { Mount } from "../core/http/mount.ts";
import { migrations } from "../resources/lfs/table.ts";
import { LFS_JSON, showError } from "./errors.ts";
import { lockRoutes } from "./locks.ts";
import { lfsToken } from "./tokens.ts";
import { transferRoutes } from "./transfers.ts";

/** Git LFS: `/<path of a project>.git/info/lfs`, and `/<path>.git/gitlab-lfs` for the objects. */
export const LFS: Mount = {
  name: "Git LFS",
  base: "",
  owns: (path) => /^\/.+\.git\/(info\/lfs|gitlab-lfs)\//.test(path),
  authenticators: [lfsToken, ...tokensAsPasswords],
  countsRequests: true,
  contentType: LFS_JSON,
  showError,
  resources: [{ name: "Git LFS", migrations, routes: [...transferRoutes, ...lockRoutes] }],
};
