import { randomUUID } from "node:crypto";
import { type Claims, signerOf } from "../../auth/signing-keys.ts";
import { byKey, expandVariables, Values, type Variable } from "../../ci/index.ts";
import { directGroups } from "../../core/access/memberships.ts";
import { roleOf } from "../../core/access/roles.ts";
import { findVisible } from "../../core/access/source.ts";
import { VISIBILITY_WORDS } from "../../core/access/visibility.ts";
import { keptIn } from "../../core/kept.ts";
import type { Secrets } from "../../core/secrets.ts";
import { dayOf } from "../../core/time.ts";
import { BRANCHES, TAGS } from "../../git/refs.ts";
import type { Reader, Store, Value } from "../../store/port.ts";
import { tierOf } from "../ci/environment-names.ts";
import { isProtected } from "../ci/environment-rights.ts";
import type { JobSpec } from "../ci/progress.ts";
import { ciSettingsOf, TOKEN_SETTINGS } from "../ci/settings.ts";
import { configurationUri } from "../pipelines/circumstances.ts";
import type { ClaimedJob } from "./claim.ts";

/** Seconds by which the clocks of verifiers may be behind. */
const LEEWAY = 5;
/** Groups of a user that are told: of those who are in more, none, as in GitLab. */
const MOST_GROUPS = 200;
/** Characters of an audience with the values of its variables: a longer one stays as it is written. */
const MOST_AUDIENCE = 1024;
/** How often variables in the values of variables are replaced. */
const DEPTH = 5;

/** What the tokens of a job are made with. */
interface Making {
  readonly db: Reader;
  readonly store: Store;
  readonly secrets: Secrets;
  /** The public address, without a trailing slash. */
  readonly base: string;
  /** The instant, in epoch milliseconds. */
  readonly at: number;
}

/** What tokens tell of a pipeline and its runner. */
interface Facts {
  readonly ref: string;
  readonly tag: number;
  readonly sha: string;
  readonly source: string;
  readonly protected: number;
  readonly runner_id: number;
  readonly merge_request_id: number | null;
}

interface Place {
  readonly id: number;
  readonly full_path: string;
  readonly visibility: number;
  readonly namespace_id: number;
  readonly namespace_path: string;
  readonly kept_settings: Value;
}

const PLACE = `select p.id, p.full_path, p.visibility, p.namespace_id, n.full_path as namespace_path, p.kept_settings
  from projects p join namespaces n on n.id = p.namespace_id where`;

/**
 * The variables of a job that are tokens of OpenID Connect, by which it proves to others which job it is. They are signed
 * now, and stored nowhere (decision 113).
 *
 * @param ref the branch or tag, also of a merge request
 * @param variables the values of those that audiences name
 */
export async function idTokensOf(
  making: Making,
  job: ClaimedJob,
  { options, environment }: Pick<JobSpec, "options" | "environment">,
  facts: Facts,
  ref: string,
  variables: readonly Variable[],
): Promise<Variable[]> {
  const asked = Object.entries(options.id_tokens ?? {});
  if (asked.length === 0) return [];
  const sign = await signerOf({ ...making, now: making.at });
  const claims = await claimsOf(making, job, environment, facts, ref);
  const values = new Values(byKey(variables));
  const expanded = (text: string) => {
    let value = text;
    for (let times = 0; times < DEPTH && value.includes("$"); times += 1) {
      value = expandVariables(value, values, { keepUnknown: true });
      // What it would be for is nobody's name.
      if (value.length > MOST_AUDIENCE) return text;
    }
    return value;
  };
  const signed = asked.map(async ([key, { aud }]) => {
    const audience = typeof aud === "string" ? expanded(aud) : aud.map(expanded);
    return { key, value: await sign({ jti: randomUUID(), aud: audience, ...claims }) };
  });
  return Promise.all(signed);
}

/** What all tokens of a job say, in GitLab's names and types: ids and flags are texts, since verifiers compare texts. */
async function claimsOf(
  { db, base, at }: Making,
  job: ClaimedJob,
  environment: JobSpec["environment"],
  facts: Facts,
  ref: string,
): Promise<Claims> {
  const own = (await db.one<Place>(`${PLACE} p.id = ?`, [job.project_id])) as Place;
  const from =
    facts.merge_request_id === null
      ? own
      : ((await db.one<Place>(
          `${PLACE} p.id = (select source_project_id from merge_requests where id = ?)`,
          [facts.merge_request_id],
        )) ?? own);
  const refType = facts.tag === 1 ? "tag" : "branch";
  const refPath = (facts.tag === 1 ? TAGS : BRANCHES) + ref;
  const iat = Math.floor(at / 1000);
  const parts = { project_path: from.full_path, ref_type: refType, ref };
  const { configurationPath } = await ciSettingsOf(db, job.project_id);
  const file = configurationUri(base, own.full_path, configurationPath, refPath);
  return {
    iss: base,
    iat,
    nbf: iat - LEEWAY,
    exp: iat + job.timeout,
    sub: subjectOf(own, parts),
    namespace_id: String(from.namespace_id),
    namespace_path: from.namespace_path,
    project_id: String(from.id),
    project_path: from.full_path,
    ...(await personOf(db, job.user_id, own.id, at)),
    pipeline_id: String(job.pipeline_id),
    pipeline_source: facts.source,
    job_id: String(job.id),
    ref,
    ref_type: refType,
    ref_path: refPath,
    ref_protected: String(facts.protected === 1),
    ...(environment && (await environmentOf(db, own, environment))),
    runner_id: facts.runner_id,
    runner_environment: "self-hosted",
    sha: facts.sha,
    project_visibility: VISIBILITY_WORDS[own.visibility],
    ci_config_ref_uri: file ?? null,
    ci_config_sha: file === undefined ? null : facts.sha,
    job_project_id: String(own.id),
    job_project_path: own.full_path,
    job_namespace_id: String(own.namespace_id),
    job_namespace_path: own.namespace_path,
  };
}

function subjectOf(
  { kept_settings }: Place,
  parts: Readonly<Record<"project_path" | "ref_type" | "ref", string>>,
): string {
  const settings = keptIn("p.kept_settings", TOKEN_SETTINGS).read(kept_settings);
  const names = settings.ci_id_token_sub_claim_components ?? [];
  return names.map((name) => `${name}:${parts[name]}`).join(":");
}

async function personOf(db: Reader, id: number, projectId: number, at: number): Promise<Claims> {
  const user = await db.one<{ username: string; email: string }>(
    "select username, email from users where id = ?",
    [id],
  );
  const { username = "", email } = user ?? {};
  const today = dayOf(at);
  // The role itself, whatever administrators may do besides.
  const viewer = { caller: { id, username, admin: false, external: false }, today };
  const place = await findVisible(db, "project", String(projectId), viewer);
  const groups = await directGroups(db, id, today, MOST_GROUPS + 1);
  return {
    user_id: String(id),
    user_login: username,
    user_email: email,
    user_access_level: roleOf(place?.level ?? 0) ?? null,
    ...(groups.length > MOST_GROUPS
      ? {}
      : { groups_direct: groups.map(({ full_path: path }) => path) }),
  };
}

async function environmentOf(
  db: Reader,
  { id, namespace_id: namespaceId }: Place,
  { name, action, deploymentTier }: NonNullable<JobSpec["environment"]>,
): Promise<Claims> {
  const tier = deploymentTier ?? tierOf(name);
  return {
    environment: name,
    environment_protected: String(await isProtected(db, { id, namespaceId }, { name, tier })),
    deployment_tier: tier,
    environment_action: action,
  };
}
