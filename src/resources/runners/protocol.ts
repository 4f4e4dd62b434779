import { newSecret } from "../../auth/token-secrets.ts";
import { durationOf, RUNNER_FAILURES } from "../../ci/index.ts";
import {
  badRequest,
  forbidden,
  missing,
  notFound,
  unauthorized,
  unreadable,
} from "../../core/errors.ts";
import { attachmentName } from "../../core/http/attachments.ts";
import { file } from "../../core/http/upload.ts";
import * as param from "../../core/input.ts";
import { AfterCommit, Json, RawReply, routes } from "../../core/resource.ts";
import { SecretKeyError } from "../../core/secrets.ts";
import type { Database, Store } from "../../store/port.ts";
import { ARTIFACT_TYPES, addArtifact, archiveReply } from "../ci/artifacts.ts";
import { noteDotenv } from "../ci/dotenv.ts";
import { JOBS, job as jobPresenter } from "../ci/json.ts";
import { finish, specOf } from "../ci/progress.ts";
import { appendTrace, MOST_TRACE_BYTES } from "../ci/traces.ts";
import { mostArtifactBytes } from "./artifact-size.ts";
import { type ClaimedJob, claim } from "./claim.ts";
import { jobOfToken, jobTokenOf, type Runner, requireJob, runnerOf } from "./credentials.ts";
import { dependenciesElsewhere } from "./elsewhere.ts";
import { lastUpdate, waitForNews } from "./news.ts";
import { accessTo, maskedIn, payloadOf } from "./payload.ts";
import { findRegistration, insertRunner, renewToken, runnerInput } from "./queries.ts";
import { JobRefusal } from "./secrets.ts";

// Requests that runners make with tokens of their own: of a runner, or of a job that runs.
const { del, get, patch, post, put } = routes();

/** Runners of GitLab 16.10 to 17.10 send their own token as a user's, too. */
const open = { access: "anyone", ownCredentials: true, concurrency: "free" } as const;
const token = { token: param.optional(param.anyText()) };
const job = { job_id: param.recordId(), ...token };

/** Ends a job that its runner can't get. */
const failOf = (
  store: Store,
  { project_id, token }: ClaimedJob,
  failureReason: string,
  now: number,
): Promise<void> =>
  store.transaction(
    async (db) => {
      db.lock(project_id);
      const running = await jobOfToken(db, token);
      const outcome = { status: "failed", failureReason } as const;
      if (running) await finish(db, running, outcome, now);
    },
    { shared: true },
  );

/** What a runner says about itself. */
const info = param.optional(param.json("the runner's version, platform and features"));

/** A process of a runner was heard of no more than so long ago, in milliseconds: that is not noted again. */
const FRESH = 60_000;

/** Processes of a runner that are known: for a new one, the one that was heard of longest ago is forgotten. */
const MOST_MANAGERS = 1000;
const FORGET = `delete from runner_managers where id in (
    select id from runner_managers where runner_id = ? and system_id <> ?
      and (select count(*) from runner_managers where runner_id = ?) > ? order by contacted_at, id limit 1)`;

/** Notes that a process of a runner was heard of. @returns its id */
async function contact(
  db: Database,
  runner: Runner,
  { systemId, about, ip }: { systemId: string; about: unknown; ip: string },
  now: number,
): Promise<number> {
  if (now - (runner.contacted_at ?? 0) > FRESH) {
    await db.run("update runners set contacted_at = ?, ip_address = ? where id = ?", [
      now,
      ip,
      runner.id,
    ]);
  }
  const [known] = await db.rows(
    "select id, version from runner_managers where runner_id = ? and system_id = ? and contacted_at > ?",
    [runner.id, systemId, now - FRESH],
  );
  const facts = (about ?? {}) as Record<string, unknown>;
  const textOf = (name: string) =>
    typeof facts[name] === "string" ? facts[name].replaceAll("\0", "").slice(0, 255) : null;
  const version = textOf("version");
  if (known && (version === null || version === known[1])) return known[0] as number;
  await db.run(FORGET, [runner.id, systemId, runner.id, MOST_MANAGERS - 1]);
  const [made] = await db.rows(
    `insert into runner_managers
       (runner_id, system_id, version, revision, platform, architecture, contacted_at, ip_address, created_at)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?)
     on conflict (runner_id, system_id) do update set version = coalesce(excluded.version, runner_managers.version),
       revision = coalesce(excluded.revision, runner_managers.revision),
       platform = coalesce(excluded.platform, runner_managers.platform),
       architecture = coalesce(excluded.architecture, runner_managers.architecture), contacted_at = excluded.contacted_at,
       ip_address = excluded.ip_address
     returning id`,
    [
      runner.id,
      systemId,
      version,
      textOf("revision"),
      textOf("platform"),
      textOf("architecture"),
      now,
      ip,
      now,
    ],
  );
  return (made as [number])[0];
}

/** What a process of a runner says that it can. */
function featuresOf(about: unknown): Readonly<Record<string, unknown>> {
  const { features } = (about ?? {}) as { features?: Record<string, unknown> | null };
  return features ?? {};
}

/** Bytes that are added to a log at once, at most. */
const MOST_ADDED = 1024 * 1024;

/** Maximum bytes of a file that a job has made, whatever the settings say. */
const MOST_ARTIFACT_BYTES = 1024 * 1024 * 1024;
/** Seconds for which artifacts are kept, if a job does not say. */
const DEFAULT_EXPIRY = 30 * 86_400;

/** The last instant that is written with a year of four digits. */
const LATEST = Date.UTC(9999, 11, 31);

/** When artifacts expire; `null` for never. @throws ApiError 400 */
function expiryOf(wanted: string | undefined, now: number): number | null {
  if (wanted === "never") return null;
  const seconds = wanted ? durationOf(wanted) : DEFAULT_EXPIRY;
  if (seconds === undefined) throw unreadable("expire_in is invalid");
  return Math.min(now + seconds * 1000, LATEST);
}

/** How often runners send what was added to a log, in seconds. */
const TRACE_INTERVAL = "3";

const textOf = (token: string, value: { id: number }) => ({
  id: value.id,
  token,
  token_expires_at: null,
});
const registered = { id: 1, token: "glrt-0123456789abcdef", token_expires_at: null };

/** What runners ask and say: for GitLab's own runner, and others that speak its protocol. */
export const protocolRoutes = [
  post("/runners", {
    summary: "Register a runner with a registration token",
    ...open,
    input: { token: param.anyText(), ...runnerInput, info },
    examples: [registered],
    handle: async ({ db, input, now }) => {
      const place = await findRegistration(db, input.token);
      if (!place) throw forbidden();
      // By this beginning, a runner that is unregistered removes all of itself.
      const { secret, digest } = newSecret("glrtr");
      const id = await insertRunner(db, { ...place, digest, creator_id: null }, input, now);
      return new Json(textOf(secret, { id }));
    },
  }),
  post("/runners/verify", {
    summary: "Check the token of a runner",
    ...open,
    input: { ...token, system_id: param.optional(param.anyText()), info },
    examples: [registered],
    status: 200,
    handle: async ({ db, input, request, now }) => {
      const runner = await runnerOf(db, request, input.token);
      const { system_id: systemId = "" } = input;
      await contact(db, runner, { systemId, about: input.info, ip: request.ip }, now);
      return new Json(textOf(input.token ?? (request.header("runner-token") as string), runner));
    },
  }),
  post("/runners/reset_authentication_token", {
    summary: "Replace the token of a runner, with the one that it has",
    ...open,
    input: token,
    examples: [{ token: registered.token, token_expires_at: null }],
    handle: async ({ db, input, request, now }) => {
      const runner = await runnerOf(db, request, input.token);
      return new Json({ token: await renewToken(db, runner.id, now), token_expires_at: null });
    },
  }),
  del("/runners", {
    summary: "Remove a runner by its token",
    ...open,
    input: token,
    handle: async ({ db, input, request }) => {
      const runner = await runnerOf(db, request, input.token);
      await db.run("delete from runners where id = ?", [runner.id]);
      return undefined;
    },
  }),
  del("/runners/managers", {
    summary: "Remove a process of a runner by its token",
    ...open,
    input: { ...token, system_id: param.anyText() },
    handle: async ({ db, input, request }) => {
      const runner = await runnerOf(db, request, input.token);
      await db.run("delete from runner_managers where runner_id = ? and system_id = ?", [
        runner.id,
        input.system_id,
      ]);
      return undefined;
    },
  }),
  post("/jobs/request", {
    alsoAnswers: { 204: [] },
    summary:
      "Get a job for a runner, as GitLab Runner reads it: the oldest one that it may do; 204 if there is none",
    ...open,
    input: {
      ...token,
      system_id: param.optional(param.anyText()),
      last_update: param.optional(param.anyText()),
      info,
    },
    answersWith: "application/json",
    prepare: async ({ token: sent, last_update: known }, { store, db, request, isClosing }) => {
      const runner = await runnerOf(db, request, sent);
      if (known === undefined || runner.paused === 1) return { store, waited: 0 };
      return { store, waited: await waitForNews(store, runner.id, known, isClosing) };
    },
    handle: async ({
      db,
      input,
      request,
      prepared: { store, waited },
      secrets,
      view,
      edition,
      ...context
    }) => {
      const now = context.now + waited;
      const runner = await runnerOf(db, request, input.token);
      const about = { systemId: input.system_id ?? "", about: input.info, ip: request.ip };
      const features = featuresOf(input.info);
      const manager = {
        id: await contact(db, runner, about, now),
        cancelsGracefully: features["cancel_gracefully"] === true,
      };
      const got = runner.paused === 1 ? undefined : await claim(db, runner, manager, now);
      if (!got) return new RawReply(204, { "x-gitlab-last-update": await lastUpdate(db) });
      return new AfterCommit(async (reader) => {
        const making = { db: reader, store, secrets, base: view.base, edition, at: now, features };
        const payload = await payloadOf(making, got).catch(async (error: unknown) => {
          // What it needs can't be encrypted or decrypted.
          if (error instanceof SecretKeyError) {
            await failOf(store, got, "data_integrity_failure", now);
          }
          if (!(error instanceof JobRefusal)) throw error;
          await failOf(store, got, error.reason, now);
          return undefined;
        });
        // Without what was new last, the runner asks again at once.
        if (!payload) return new RawReply(204, {});
        return new RawReply(201, { "content-type": "application/json" }, JSON.stringify(payload));
      }, "repository");
    },
  }),
  put("/jobs/:job_id", {
    summary: "Say how a job is getting on, or how it ended",
    ...open,
    input: {
      ...job,
      state: param.optional(param.choice(["pending", "running", "success", "failed"])),
      failure_reason: param.optional(param.anyText()),
      exit_code: param.optional(param.integer()),
    },
    examples: [null],
    handle: async ({ db, input, request, now }) => {
      const known = await requireJob(db, request, input.job_id, input.token);
      db.lock(known.project_id);
      // Somebody may have canceled it meanwhile.
      const found = await requireJob(db, request, input.job_id, input.token);
      const { state, failure_reason, exit_code } = input;
      if (state === "success" || state === "failed") {
        const failureReason = RUNNER_FAILURES.find((reason) => reason === failure_reason);
        const outcome = { status: state, failureReason, exitCode: exit_code };
        await finish(db, found, outcome, now);
      } else {
        await db.run("update ci_jobs set updated_at = ? where id = ?", [now, found.id]);
      }
      const isEnd = state === "success" || state === "failed";
      const status = !isEnd ? found.status : found.status === "canceling" ? "canceled" : state;
      return new RawReply(
        200,
        { "job-status": status, "content-type": "application/json" },
        "null",
      );
    },
  }),
  patch("/jobs/:job_id/trace", {
    summary: "Add to the log of a job",
    ...open,
    body: "bytes",
    maxBodyBytes: MOST_ADDED,
    input: { job_id: param.recordId(), debug_trace: param.optional(param.boolean()) },
    examples: [""],
    handle: async ({ db, input, body, request, secrets, now }) => {
      const found = await requireJob(db, request, input.job_id, undefined);
      const range = /^(\d{1,15})-(\d{1,15})$/.exec(request.header("content-range") ?? "");
      if (!range) throw unreadable("Content-Range header is missing or invalid");
      const start = Number(range[1]);
      const end = start + body.length;
      const text = { "content-type": "text/plain" };
      const gap = (size: number) =>
        new RawReply(416, { ...text, range: `0-${size}`, "job-status": found.status }, "");
      const isWhole = body.length === 0 || Number(range[2]) + 1 === end;
      if (!isWhole || start !== found.trace_bytes) return gap(found.trace_bytes);
      if (end > MOST_TRACE_BYTES) {
        db.lock(found.project_id);
        // Somebody may have canceled it meanwhile.
        await requireJob(db, request, input.job_id, undefined);
        const outcome = { status: "failed", failureReason: "trace_size_exceeded" } as const;
        await finish(db, found, outcome, now);
        return new RawReply(403, { ...text, "job-status": "failed" }, "");
      }
      const added = await db.run(
        "update ci_jobs set trace_bytes = ?, updated_at = ? where id = ? and trace_bytes = ?",
        [end, now, found.id, start],
      );
      if (added === 0) return gap(found.trace_bytes);
      const project = { id: found.project_id, namespaceId: found.namespace_id };
      const masked = await maskedIn({ db, secrets }, found, project);
      await appendTrace(db, found, start, body, masked);
      return new RawReply(
        202,
        {
          ...text,
          "job-status": found.status,
          range: `0-${end}`,
          "x-gitlab-trace-update-interval": TRACE_INTERVAL,
        },
        String(end),
      );
    },
  }),
  post("/jobs/:job_id/artifacts", {
    summary: "Upload a file that a job has made",
    ...open,
    upload: {
      part: "file",
      maxBytes: MOST_ARTIFACT_BYTES,
      admit: async ({ db, request, parameters }) => {
        // An id that no job has, for what is none.
        const jobId = /\/jobs\/(\d{1,15})\/artifacts$/.exec(request.path)?.[1] ?? 0;
        const sent = parameters["token"];
        const own = typeof sent === "string" ? sent : undefined;
        const found = await requireJob(db, request, Number(jobId), own);
        return mostArtifactBytes(db, { id: found.project_id, namespaceId: found.namespace_id });
      },
    },
    input: {
      ...job,
      file: file(),
      artifact_type: param.optional(param.choice(ARTIFACT_TYPES)),
      artifact_format: param.optional(param.choice(["raw", "zip", "gzip"])),
      expire_in: param.optional(param.anyText()),
    },
    examples: [{ message: "201 Created" }],
    handle: async ({ db, input, request, now }) => {
      const found = await requireJob(db, request, input.job_id, input.token);
      const { artifact_type: file_type = "archive", artifact_format: file_format = "zip" } = input;
      const artifact = {
        project_id: found.project_id,
        job_id: found.id,
        file_type,
        file_format,
        file_name: attachmentName(input.file.name),
        access: await accessTo(db, found.id, file_type),
      };
      if (!(await addArtifact(db, artifact, input.file, now))) {
        throw badRequest("another artifact of the same type already exists");
      }
      if (file_type === "dotenv") await noteDotenv(db, found.id, input.file, file_format);
      await db.run("update ci_jobs set artifacts_expire_at = ? where id = ?", [
        expiryOf(input.expire_in, now),
        found.id,
      ]);
      return new Json({ message: "201 Created" });
    },
  }),
  get("/jobs/:job_id/artifacts", {
    answersWith: "application/octet-stream",
    summary: "Get the archive of a job that another one depends on",
    access: "anyone",
    input: { ...job, direct_download: param.optional(param.boolean()) },
    prepare: (_, { store }) => store,
    handle: async ({ db, input, request, prepared: store, now }) => {
      const token = input.token ?? request.header("job-token");
      if (token === undefined) throw missing("token");
      const asking = await jobOfToken(db, token);
      const [wanted] = await db.rows("select pipeline_id from ci_jobs where id = ?", [
        input.job_id,
      ]);
      if (!asking || !wanted) throw forbidden();
      if (wanted[0] !== asking.pipeline_id) {
        const { needsElsewhere = [] } = await specOf(db, asking.id);
        const found = await dependenciesElsewhere(db, asking, needsElsewhere, now);
        if (!found.some((one) => one?.id === input.job_id)) throw forbidden();
      }
      return archiveReply(store, db, request, input.job_id, "later job");
    },
  }),
  get("/job", {
    summary: "Get the job that a job token is for",
    access: "anyone",
    input: { job_token: param.optional(param.anyText()) },
    presenter: jobPresenter,
    handle: async ({ db, input, caller, presenter, request }) => {
      if (caller) throw notFound();
      const found = await jobOfToken(db, jobTokenOf(request, input.job_token));
      if (!found) throw unauthorized({ tokenGiven: true });
      const [row] = await db.rows(`select ${presenter.columns} from ${JOBS} where cj.id = ?`, [
        found.id,
      ]);
      return row;
    },
  }),
];
