import { notFound } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { Json, RawReply, type Resource, routes } from "../../core/resource.ts";
import { USER_SCOPES } from "../../core/scopes.ts";
import { REVISION, VERSION } from "../../core/version.ts";
import { health } from "../../jobs/outbox.ts";
import { periodicJobs } from "../../jobs/periodic.ts";
import { outboxMigrations, periodicMigrations } from "../../jobs/table.ts";

const { get } = routes();

const metadata = {
  version: VERSION,
  revision: REVISION,
  kas: { enabled: false, externalUrl: null, externalK8sProxyUrl: null, version: null },
  enterprise: true,
};

/** The server's version. */
export const metaResource: Resource = {
  name: "Version",
  migrations: [],
  routes: [
    get("/version", {
      summary: "Get the version of the API",
      scopes: USER_SCOPES,
      examples: [{ version: VERSION, revision: REVISION }],
      handle: () => new Json({ version: VERSION, revision: REVISION }),
    }),
    get("/metadata", {
      summary: "Get the version, revision and edition",
      scopes: USER_SCOPES,
      examples: [metadata],
      handle: () => new Json(metadata),
    }),
  ],
};

/** Routes outside the API: health checks, and the generated avatars that responses link to. */
export const healthResource: Resource = {
  name: "Health",
  migrations: [...outboxMigrations, ...periodicMigrations],
  routes: [
    get("/-/health", {
      summary: "Check that the process answers",
      access: "anyone",
      immediate: true,
      examples: [{ status: "ok" }],
      handle: () => new Json({ status: "ok" }),
    }),
    get("/-/readiness", {
      summary: "Check that the database answers; reports failing mail and jobs",
      access: "anyone",
      examples: [{ status: "ok" }],
      handle: async ({ db, now }) => {
        const failed = (await periodicJobs(db)).filter((job) => job.failed);
        return new Json({
          status: "ok",
          ...(await health(db, now)),
          ...(failed.length > 0 && { failed_jobs: failed.map(({ name }) => name) }),
        });
      },
    }),
    get("/-/avatars/:name", {
      answersWith: "image/svg+xml",
      summary: "Get the generated avatar of a user without a picture",
      access: "anyone",
      input: { name: param.anyText() },
      handle: ({ input }) => {
        const parts = /^([a-z0-9])-(\d{1,3})\.svg$/.exec(input.name);
        if (!parts) throw notFound();
        const picture = avatar(parts[1] as string, Number(parts[2]) % 360);
        return new RawReply(200, { "content-type": "image/svg+xml" }, picture);
      },
    }),
  ],
};

function avatar(initial: string, hue: number): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 80 80" width="80" height="80">
<rect width="80" height="80" fill="hsl(${hue} 45% 45%)"/>
<text x="40" y="40" dy="0.35em" text-anchor="middle" font-family="sans-serif" font-size="40" fill="#fff">${initial.toUpperCase()}</text>
</svg>
`;
}
