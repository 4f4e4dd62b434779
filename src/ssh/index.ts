// All of the SSH server, which is loaded only where it is used.

import type { Respond } from "../core/http/incoming.ts";
import { createPipeline, type PipelineSettings } from "../core/http/pipeline.ts";
import { createMountRouter } from "../core/http/router.ts";
import { SSH } from "./mount.ts";

export { startSshServer } from "./server.ts";
export { loadSsh2 } from "./ssh2.ts";

/** What answers the commands of Git: the pipeline of an application, with routes that HTTP does not reach. */
export function sshPipeline(settings: PipelineSettings): Respond {
  const { mounts } = settings.routes;
  const routes = { mounts, router: createMountRouter([SSH]), unknownPage: undefined };
  // The settings may change: limits do, in a test server.
  return createPipeline(Object.assign(Object.create(settings) as PipelineSettings, { routes }));
}
