import { notFound } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { Json, RawReply, type Resource, routes } from "../../core/resource.ts";
import { USER_SCOPES } from "../../core/scopes.ts";
import { type Edition, editionOf, GITLAB_VERSION, REVISION, VERSION } from "../../core/version.ts";
import { health, stuckTasks } from "../../jobs/outbox.ts";
import { periodicJobs } from "../../jobs/periodic.ts";
import { leaseMigrations, outboxMigrations, periodicMigrations } from "../../jobs/table.ts";
import { UnavailableError } from "../../store/port.ts";

const { get } = routes();

/** How long readiness waits for the database, in milliseconds: shorter than those who ask for it do. */
const READY_MS = 2000;

/** What both routes answer, as in GitLab since 15.5. */
const metadataOf = ({ version, enterprise }: Edition) => ({
  version,
  revision: REVISION,
  kas: { enabled: false, externalUrl: null, externalK8sProxyUrl: null, version: null },
  enterprise,
});

const examples = [metadataOf(editionOf(GITLAB_VERSION, "ultimate"))];

/** The server's version. */
export const metaResource: Resource = {
  name: "Version",
  migrations: [],
  routes: [
    get("/version", {
      summary: "Get the version of GitLab that clients may expect",
      scopes: USER_SCOPES,
      examples,
      handle: ({ edition }) => new Json(metadataOf(edition)),
    }),
    get("/metadata", {
      summary: "Get the version, revision and edition",
      scopes: USER_SCOPES,
      examples,
      handle: ({ edition }) => new Json(metadataOf(edition)),
    }),
  ],
};

/** Routes outside the API: health checks, generated pictures, and what robots look for. */
export const healthResource: Resource = {
  name: "Health",
  migrations: [...outboxMigrations, ...periodicMigrations, ...leaseMigrations],
  routes: [
    get("/-/health", {
      summary: "Check that the process answers",
      access: "anyone",
      immediate: true,
      examples: [{ status: "ok", version: VERSION }],
      handle: () => new Json({ status: "ok", version: VERSION }),
    }),
    get("/-/liveness", {
      summary: "Check that the process answers, as GitLab words it",
      access: "anyone",
      immediate: true,
      examples: [{ status: "ok" }],
      handle: () => new Json({ status: "ok" }),
    }),
    get("/-/readiness", {
      summary:
        "Check that the database answers; reports failing mail and jobs, and tasks that are stuck",
      access: "anyone",
      examples: [{ status: "ok" }, { status: "ok", mail: "ok" }],
      handle: async ({ db, now }) => {
        const read = Promise.all([health(db, now), periodicJobs(db), stuckTasks(db, now)]);
        const [workers, jobs, stuck] = await soon(read);
        const failed = jobs.filter((job) => job.failed);
        return new Json({
          status: "ok",
          ...workers,
          ...(failed.length > 0 && { failed_jobs: failed.map(({ name }) => name) }),
          ...(Object.keys(stuck).length > 0 && { stuck_tasks: stuck }),
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
    get("/favicon.ico", {
      answersWith: "image/svg+xml",
      summary: "Get the picture that browsers show beside the title of a page",
      access: "anyone",
      immediate: true,
      handle: () => new RawReply(200, { "content-type": "image/svg+xml" }, avatar("p", 210)),
    }),
    get("/robots.txt", {
      answersWith: "text/plain",
      summary: "Ask search engines to leave the server alone",
      access: "anyone",
      immediate: true,
      handle: () =>
        new RawReply(200, { "content-type": "text/plain" }, "User-agent: *\nDisallow: /\n"),
    }),
  ],
};

/** @throws UnavailableError if the database takes too long, as behind a network that has fallen silent */
async function soon<T>(read: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const error = new UnavailableError(`the database does not answer within ${READY_MS} ms`);
    timer = setTimeout(() => reject(error), READY_MS);
  });
  try {
    return await Promise.race([read, late]);
  } finally {
    clearTimeout(timer);
  }
}

function avatar(initial: string, hue: number): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 80 80" width="80" height="80">
<rect width="80" height="80" fill="hsl(${hue} 45% 45%)"/>
<text x="40" y="40" dy="0.35em" text-anchor="middle" font-family="sans-serif" font-size="40" fill="#fff">${initial.toUpperCase()}</text>
</svg>
`;
}
