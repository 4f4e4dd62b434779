import {
  type Commit,
  type ConfigurationLimits,
  type PipelineSource,
  type Plan,
  planPipeline,
  readConfiguration,
  type Variable,
} from "../../ci/index.ts";
import type { Source } from "../../core/access/source.ts";
import { ApiError } from "../../core/errors.ts";
import { storedIn } from "../../core/kept.ts";
import type { PrepareContext } from "../../core/resource.ts";
import type { Secrets } from "../../core/secrets.ts";
import type { Edition } from "../../core/version.ts";
import { commitId, readCommit } from "../../git/commits.ts";
import { BRANCHES, TAGS } from "../../git/refs.ts";
import { findCommit } from "../../git/revisions.ts";
import { queueNotification } from "../../jobs/notifications.ts";
import type { IncludeSources } from "../../outgoing/includes.ts";
import type { Database, Reader, Store } from "../../store/port.ts";
import { keptSettings } from "../application-settings/kept.ts";
import type { PipelineInputs } from "../ci/inputs.ts";
import { settle } from "../ci/progress.ts";
import {
  type GivenVariable,
  insertJobs,
  insertPipeline,
  insertVariables,
  NO_SHA,
} from "../ci/records.ts";
import { cancelRedundant } from "../ci/redundant.ts";
import { type CiSettings, ciSettingsOf } from "../ci/settings.ts";
import { limitOf } from "../plan-limits/limits.ts";
import { rightsOf } from "../protected-refs/abilities.ts";
import { openRepository } from "../repositories/open.ts";
import { type EffectiveVariable, variablesFor } from "../variables/effective.ts";
import {
  circumstancesOf,
  type Makers,
  type OfMergeRequest,
  predefinedVariables,
  type Target,
  type Upstream,
} from "./circumstances.ts";

/** Where a pipeline is to be made, and for whom. */
export interface Place {
  readonly store: Store;
  readonly db: Reader;
  /** The project, with the level that the user has in it. */
  readonly project: Source;
  readonly userId: number | null;
  /** The public address, without a trailing slash. */
  readonly base: string;
  readonly edition: Edition;
  readonly includes: IncludeSources;
  readonly secrets: Pick<Secrets, "open">;
  /** The instant, in epoch milliseconds. */
  readonly at: number;
}

/** What of a request says where it makes pipelines. */
type Requesting = Pick<
  PrepareContext,
  "store" | "db" | "secrets" | "edition" | "includes" | "view"
>;

/** Where a request makes a pipeline of a project as a user. */
export const placeIn = (
  { store, db, secrets, edition, includes, view }: Requesting,
  project: Source,
  userId: number | null,
): Place => ({
  ...{ store, db, secrets, edition, includes, project, userId },
  base: view.base,
  at: view.now,
});

/** The pipeline that is wanted. */
export interface Wanted {
  /** A branch or tag, as a name or in full. */
  readonly ref: string;
  readonly source: PipelineSource;
  readonly variables?: readonly GivenVariable[] | undefined;
  /** The commit before a push. */
  readonly before?: string | undefined;
  /** The merge request that it is of; `ref` is its source branch. */
  readonly request?: OfMergeRequest | undefined;
  /** The id of the schedule that starts it. */
  readonly scheduleId?: number | undefined;
  /** What jobs are told of the token of the trigger that starts it. */
  readonly shortToken?: string | undefined;
  /** The job of another pipeline that starts it. */
  readonly upstream?: Upstream | undefined;
  /** The commit, if it is not the newest one. */
  readonly sha?: string | undefined;
  /** The configuration, if it is not the one that the commit has. */
  readonly content?: string | undefined;
  /** Values of the configuration's inputs by name. */
  readonly inputs?: PipelineInputs | undefined;
  /** Whether these are texts, as options of a push are. */
  readonly areTexts?: boolean | undefined;
  /** The pipeline of the project that starts it. */
  readonly parent?: number | undefined;
  /** Whether `[skip ci]` in the commit's message counts, and what else says that nothing is to run. */
  readonly mayBeSkipped?: boolean | undefined;
  readonly isSkipped?: boolean | undefined;
}

/** Why there is no pipeline. */
export class PipelineRefusal extends ApiError {
  /**
   * @param reasons in the words that clients see
   * @param target what it would have been of, if the configuration has mistakes: a failed pipeline can show these
   */
  constructor(
    readonly reasons: readonly string[],
    readonly target?: Target,
  ) {
    super(400, { message: { base: reasons } });
  }
}

/** A pipeline that is planned, and not stored yet. */
export interface Creation {
  readonly project: Source;
  readonly userId: number | null;
  readonly target: Target;
  readonly variables: readonly GivenVariable[];
  readonly settings: CiSettings;
  /** `undefined` if it is skipped. */
  readonly plan: Plan | undefined;
}

const SKIPS = /\[(ci[ _-]skip|skip[ _-]ci)\]/i;

/**
 * Plans a pipeline: reads the configuration, and decides which jobs there are. It reads Git objects, which takes too long
 * for a transaction; {@link storePipeline} then stores it.
 *
 * @throws PipelineRefusal if there is nothing to run, or the user may not
 */
export async function planCreation(place: Place, wanted: Wanted): Promise<Creation> {
  const { db, store, project, userId, base, edition, includes, secrets, at } = place;
  const { source, request, scheduleId, shortToken, upstream, variables = [] } = wanted;
  if (variables.some(({ value }) => value.includes("\0"))) {
    throw new PipelineRefusal(["Variables can't contain null bytes"]);
  }
  const opened = await openRepository({ db, store, source: project }, [wanted.ref]);
  const found = [wanted.ref, BRANCHES + wanted.ref, TAGS + wanted.ref].find((name) =>
    opened.refs.has(name),
  );
  const number = found === undefined ? undefined : await findCommit(opened, wanted.sha ?? found);
  if (found === undefined || number === undefined) {
    throw new PipelineRefusal(["Reference not found"]);
  }
  const tag = found.startsWith(TAGS);
  const ref = found.slice(tag ? TAGS.length : BRANCHES.length);
  const rights = await rightsOf(db, project, [found]);
  const isProtected = tag ? rights.isProtectedTag(ref) : rights.isProtected(ref);
  if (!rights.mayRun(found)) {
    throw new PipelineRefusal([
      `You do not have sufficient permission to run a pipeline on '${ref}'. ` +
        "Please select a different branch or contact your administrator for assistance.",
    ]);
  }
  const sha = commitId(opened.repository, number);
  const { before = NO_SHA } = wanted;
  const of = { ref, tag, isProtected, sha, before };
  const target: Target = { ...of, source, request, scheduleId, shortToken, upstream };
  const settings = await ciSettingsOf(db, project.id);
  const creation = { project, userId, target, variables, settings };
  const makers: Makers = { db, opened, base, edition, includes, userId, at };
  const predefined = await predefinedVariables(makers, target);
  const own = await variablesFor(db, secrets, project, { isProtected, environment: undefined });
  const { inputs, areTexts } = wanted;
  const limits = await configurationLimits(db);
  const given = { ...variablesGiven(own, variables), predefined, inputs, areTexts, limits };
  const circumstances = circumstancesOf(makers, target, given, wanted.parent);
  const text = wanted.content ?? (await configurationAt(circumstances, settings.configurationPath));
  if (text === undefined) throw new PipelineRefusal(["Missing CI config file"]);
  const { message } = await readCommit(opened.repository, number);
  if (wanted.isSkipped || (wanted.mayBeSkipped && SKIPS.test(message))) {
    return { ...creation, plan: undefined };
  }
  const { configuration, errors } = await readConfiguration(text, circumstances);
  if (!configuration) throw new PipelineRefusal(errors, target);
  const plan = await planPipeline(configuration, circumstances);
  if (plan.errors.length > 0) {
    throw new PipelineRefusal(plan.errors, plan.failure === "config_error" ? target : undefined);
  }
  return { ...creation, plan: edition.sites ? plan : withoutSites(plan) };
}

/** A plan whose jobs publish nothing: the server serves no sites. */
const withoutSites = (plan: Plan): Plan => ({
  ...plan,
  jobs: plan.jobs.map(({ options: { pages: _, ...options }, ...job }) => ({ ...job, options })),
});

/** What the administrator allows configurations. */
export async function configurationLimits(db: Reader): Promise<ConfigurationLimits> {
  const stored = await storedIn(db, "application_settings", 1);
  const includes = Number(keptSettings.read(stored).ci_max_includes);
  return { includes, needs: await limitOf(db, "ci_needs_size_limit") };
}

/** Variables as configurations read them: the project's, and those that are given to one pipeline. */
export const variablesGiven = (
  own: readonly EffectiveVariable[],
  variables: readonly Variable[] = [],
) => ({
  variables: [...own, ...variables].map(({ key, value }) => ({ key, value })),
  masked: new Set(own.filter(({ masked }) => masked).map(({ key }) => key)),
});

/**
 * The configuration that a project's setting names: a path of the commit, `path@group/project:ref` of another project, or a
 * URL. The latter two are included, as in GitLab.
 *
 * @returns `undefined` if the commit has no such file
 */
export async function configurationAt(
  commit: Pick<Commit, "file">,
  path: string,
): Promise<string | undefined> {
  if (/^https?:\/\//i.test(path)) return JSON.stringify({ include: [{ remote: path }] });
  const [file = "", place, ...others] = path.split("@");
  if (place?.includes("/") && others.length === 0) {
    const [project = "", ref] = place.split(":", 2);
    return JSON.stringify({ include: [{ project, file, ...(ref !== undefined && { ref }) }] });
  }
  return commit.file(path);
}

/** How a pipeline names what it is of. */
const refOf = ({ ref, request }: Target) =>
  request ? `refs/merge-requests/${request.iid}/head` : ref;

/**
 * Stores a planned pipeline with its jobs, and starts it, in a transaction that has locked the project.
 *
 * @returns its id
 */
export async function storePipeline(
  db: Database,
  secrets: Secrets,
  { project, userId, target, variables, settings, plan }: Creation,
  now: number,
): Promise<number> {
  const pipeline = { ...rowOf(project, userId, target), name: plan?.name };
  const { autoCancel } = plan ?? {};
  const status = plan ? "created" : "skipped";
  const id = await insertPipeline(db, { ...pipeline, autoCancel, status }, now);
  await insertVariables(db, secrets, { pipelineId: id }, variables);
  if (plan) {
    const { isProtected } = target;
    await insertJobs(db, { ...pipeline, id, isProtected, ...settings }, plan.jobs, now);
    await settle(db, id, now);
    await cancelRedundant(db, { ...pipeline, id, status }, now);
  }
  return id;
}

/** Stores that a configuration has mistakes, as a pipeline that has failed. @returns its id */
export async function storeFailed(
  db: Database,
  { project, userId }: Pick<Place, "project" | "userId">,
  target: Target,
  reasons: readonly string[],
  now: number,
): Promise<number> {
  const row = rowOf(project, userId, target);
  const failed = { ...row, status: "failed", yaml_errors: reasons.join("\n") } as const;
  const id = await insertPipeline(db, failed, now);
  await queueNotification(db, { notice: "pipeline", pipeline: id, status: "failed" }, now);
  return id;
}

function rowOf(project: Source, userId: number | null, target: Target) {
  return {
    project_id: project.id,
    user_id: userId,
    ref: refOf(target),
    tag: target.tag,
    sha: target.sha,
    before_sha: target.before,
    source: target.source,
    merge_request_id: target.request?.id,
    trigger_short_token: target.shortToken,
  };
}
