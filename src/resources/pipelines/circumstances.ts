import { StringDecoder } from "node:string_decoder";
import type { Circumstances, PipelineSource, Variable } from "../../ci/index.ts";
import { VISIBILITY_WORDS } from "../../core/access/visibility.ts";
import { dayOf } from "../../core/time.ts";
import { type Edition, REVISION } from "../../core/version.ts";
import { textOf } from "../../git/changes.ts";
import {
  type Commit,
  commitId,
  commitNumber,
  readCommit,
  readTag,
  timeOf,
  titleOf,
} from "../../git/commits.ts";
import { changesBetween } from "../../git/compared.ts";
import { mergeBases } from "../../git/merge-bases.ts";
import { BRANCHES, findRef, findRefs, TAGS } from "../../git/refs.ts";
import { findCommit, refNamesOf } from "../../git/revisions.ts";
import type { IncludeSources } from "../../outgoing/includes.ts";
import type { Reader } from "../../store/port.ts";
import { approvalState } from "../approval-state/state.ts";
import { NO_SHA } from "../ci/records.ts";
import { ciSettingsOf } from "../ci/settings.ts";
import { nameOf } from "../container-registry/names.ts";
import { isRegistry } from "../container-registry/settings.ts";
import { isFrozen } from "../freeze-periods/frozen.ts";
import { knownLanguages } from "../repositories/languages.ts";
import type { OpenRepository } from "../repositories/open.ts";
import { domainOf, type SiteOwner, UNIQUE_DOMAIN, urlOfSite } from "../sites/place.ts";
import { elsewhereOf } from "./elsewhere.ts";
import { fileOf, pathsOf } from "./files.ts";
import { requestVariables } from "./request-variables.ts";

/** The merge request that a pipeline is of. */
export interface OfMergeRequest {
  readonly id: number;
  readonly iid: number;
  readonly source_branch: string;
  readonly target_branch: string;
}

/** The merge request that a pipeline is of, by its id, if it is of one. */
export async function findRequestOf(
  db: Reader,
  id: number | null,
): Promise<OfMergeRequest | undefined> {
  if (id === null) return undefined;
  return db.one<OfMergeRequest>(
    "select id, iid, source_branch, target_branch from merge_requests where id = ?",
    [id],
  );
}

/** What a pipeline is made of. */
export interface Target {
  /** The branch or tag, without `refs/heads/` or `refs/tags/`. */
  readonly ref: string;
  readonly tag: boolean;
  /** Whether the branch or tag is protected. */
  readonly isProtected: boolean;
  readonly sha: string;
  /** The commit before a push; {@link NO_SHA} if there is none. */
  readonly before: string;
  readonly source: PipelineSource;
  readonly request?: OfMergeRequest | undefined;
  /** The id of the schedule that starts it. */
  readonly scheduleId?: number | null | undefined;
  /** What jobs are told of the token of the trigger that starts it. */
  readonly shortToken?: string | undefined;
  /** The job of another pipeline that starts it. */
  readonly upstream?: Upstream | undefined;
}

/** A job that starts a pipeline, by its id and those of its pipeline and project. */
export interface Upstream {
  readonly job: number;
  readonly pipeline: number;
  readonly project: number;
}

/** Where the address of the instance and the name of who makes a pipeline come from. */
export interface Makers {
  readonly db: Reader;
  readonly opened: OpenRepository;
  /** The public address, without a trailing slash. */
  readonly base: string;
  /** Which GitLab clients are told they speak to. */
  readonly edition: Edition;
  readonly includes: IncludeSources;
  readonly userId: number | null;
  /** The instant, in epoch milliseconds. */
  readonly at: number;
}

/** What names of projects, branches and jobs become in host names. */
export const hostSlugOf = (name: string) =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]/g, "-")
    .slice(0, 63)
    .replace(/^-+|-+$/g, "");

interface ProjectFacts extends Omit<SiteOwner, "id"> {
  name: string;
  path: string;
  description: string | null;
  namespace_id: number;
  namespace: string;
  default_branch: string | null;
  without_registry: number;
}

/** Topics, and open merge requests of a branch, that variables name at most, as in GitLab. */
const MOST_TOPICS = 20;
const MOST_REQUESTS = 4;

/** The names of a project's topics, as `CI_PROJECT_TOPICS` has them. */
async function topicsOf(db: Reader, projectId: number): Promise<string> {
  const rows = await db.rows(
    `select t.name from project_topics pt join topics t on t.id = pt.topic_id
     where pt.project_id = ? order by pt.position limit ${MOST_TOPICS}`,
    [projectId],
  );
  return rows.map(([name]) => String(name).toLowerCase()).join(",");
}

/** The open merge requests from a branch, as `CI_OPEN_MERGE_REQUESTS` has them; `undefined` if there are none. */
async function openRequestsOf(db: Reader, projectId: number, branch: string) {
  const rows = await db.rows(
    `select p.full_path, mr.iid from merge_requests mr join projects p on p.id = mr.project_id
     where mr.source_project_id = ? and mr.source_branch = ? and mr.state = 'opened'
     order by mr.id limit ${MOST_REQUESTS}`,
    [projectId, branch],
  );
  return rows.map(([path, iid]) => `${path}!${iid}`).join(",") || undefined;
}

/** The message of a tag, if it is annotated. */
async function tagMessageOf(
  { db, opened }: Pick<Makers, "db" | "opened">,
  tag: string,
): Promise<string | undefined> {
  const { row, repository } = opened;
  const ref = row && (await findRef(db, row.id, TAGS + tag));
  const object = ref ? repository.findHex(ref.oid) : -1;
  const read = object < 0 ? undefined : await readTag(repository, object);
  return read?.message.trimEnd();
}

/** Characters of a release's description that jobs are told, as in GitLab. */
const MOST_RELEASE_DESCRIPTION = 1024;

/** The description of a tag's release, if it has one. */
async function releaseOf(db: Reader, projectId: number, tag: string): Promise<string | undefined> {
  const [row] = await db.rows("select description from releases where project_id = ? and tag = ?", [
    projectId,
    tag,
  ]);
  return row?.[0]?.toString().slice(0, MOST_RELEASE_DESCRIPTION);
}

/** What a schedule is called. */
async function scheduleOf(db: Reader, id: number): Promise<string | undefined> {
  const [row] = await db.rows("select description from pipeline_schedules where id = ?", [id]);
  return row?.[0]?.toString();
}

/** Whether a merge request has all the approvals that it needs, in tiers that have approvals. */
async function isApproved(
  { db, edition, at }: Pick<Makers, "db" | "edition" | "at">,
  requestId: number,
): Promise<boolean> {
  if (!edition.enterprise) return false;
  return (await approvalState(db, requestId, "premium", dayOf(at))).isApproved;
}

/** The variables that say where sites are. */
function pagesVariables(sites: string, base: string, owner: SiteOwner): Record<string, string> {
  const url = new URL(urlOfSite(sites, base || "http://localhost", owner));
  return {
    CI_PAGES_DOMAIN: domainOf(sites) ?? url.hostname,
    CI_PAGES_HOSTNAME: url.hostname,
    CI_PAGES_URL: url.href.replace(/\/$/, ""),
  };
}

/** The variables that say which server makes the pipeline. */
export function serverVariables(
  base: string,
  edition: Edition,
): Record<string, string | undefined> {
  const { hostname = "", port = "", protocol = "https:" } = URL.canParse(base) ? new URL(base) : {};
  const [major, minor, patch] = edition.version.split(/[.-]/);
  return {
    CI_SERVER: "yes",
    CI_SERVER_URL: base,
    CI_SERVER_HOST: hostname,
    CI_SERVER_PORT: port || (protocol === "http:" ? "80" : "443"),
    CI_SERVER_PROTOCOL: protocol.slice(0, -1),
    CI_SERVER_NAME: "GitLab",
    CI_SERVER_FQDN: port === "" ? hostname : `${hostname}:${port}`,
    CI_SERVER_VERSION: edition.version,
    CI_SERVER_VERSION_MAJOR: major,
    CI_SERVER_VERSION_MINOR: minor,
    CI_SERVER_VERSION_PATCH: patch,
    CI_SERVER_REVISION: REVISION,
    ...(edition.ssh && {
      CI_SERVER_SHELL_SSH_HOST: edition.ssh.host ?? hostname,
      CI_SERVER_SHELL_SSH_PORT: String(edition.ssh.port),
    }),
    CI_API_V4_URL: `${base}/api/v4`,
    CI_API_GRAPHQL_URL: `${base}/api/graphql`,
  };
}

/**
 * What names a configuration: `host/group/project//.gitlab-ci.yml@refs/heads/main`. `undefined` for one of another project
 * or server.
 *
 * @param path the project's setting
 * @param ref in full
 */
export function configurationUri(
  base: string,
  project: string,
  path: string,
  ref: string,
): string | undefined {
  if (path.includes("@") || /^https?:/i.test(path)) return undefined;
  const { host, pathname } = new URL(base);
  return `${host}${pathname.replace(/\/$/, "")}/${project}//${path}@${ref}`;
}

/** Bytes of a commit's message that jobs are told, as in GitLab. */
const MOST_MESSAGE = 100 * 1024;
/** Characters of a title with which GitLab tells a description of the rest only. */
const LONG_TITLE = 100;

/** The variables that say what a commit is. */
async function commitVariables(
  db: Reader,
  { message, author, committer }: Commit,
): Promise<Record<string, string>> {
  const bytes = Buffer.from(message);
  const isLong = bytes.length > MOST_MESSAGE;
  const title = titleOf(message);
  const [user] = await db.rows(
    `select username from users where public_email is not null and lower(public_email) = lower(?) and private_profile = 0
       and state = 'active' limit 1`,
    [author.email],
  );
  return {
    CI_COMMIT_MESSAGE: isLong
      ? new StringDecoder("utf8").write(bytes.subarray(0, MOST_MESSAGE))
      : message,
    CI_COMMIT_MESSAGE_IS_TRUNCATED: String(isLong),
    CI_COMMIT_TITLE: title,
    CI_COMMIT_DESCRIPTION:
      title.length < LONG_TITLE ? message.split("\n").slice(1).join("\n").trim() : message,
    CI_COMMIT_TIMESTAMP: timeOf(committer),
    CI_COMMIT_AUTHOR: `${author.name} <${author.email}>`,
    CI_COMMIT_USER_LOGIN: user ? String(user[0]) : "",
  };
}

/** Where a branch has begun, by the default branch; `undefined` for that itself, and if they have nothing in common. */
async function baseOf(
  { db, opened }: Pick<Makers, "db" | "opened">,
  commit: number | undefined,
  branch: string,
): Promise<string | undefined> {
  const { row, repository, defaultBranch } = opened;
  if (!row || commit === undefined || branch === defaultBranch) return undefined;
  const main = await findRef(db, row.id, BRANCHES + defaultBranch);
  const other = main && commitNumber(repository, main.oid);
  if (other === undefined) return undefined;
  const [base] = mergeBases(repository.graph, commit, [other]);
  return base === undefined ? undefined : commitId(repository, base);
}

/** The variables that say what a pipeline is of, as GitLab calls them. */
export async function predefinedVariables(
  makers: Omit<Makers, "includes">,
  { ref, tag, isProtected, sha, before, source, request, scheduleId, upstream }: Target,
): Promise<Variable[]> {
  const { db, opened, base, edition, userId, at } = makers;
  const { project, repository } = opened;
  const facts = (await db.one<ProjectFacts>(
    `select p.name, p.path, p.description, p.namespace_id, n.full_path as namespace, p.default_branch,
       case when ${isRegistry("disabled")} then 1 else 0 end as without_registry, p.full_path,
       ${UNIQUE_DOMAIN} as unique_domain
     from projects p join namespaces n on n.id = p.namespace_id
     left join site_settings si on si.project_id = p.id where p.id = ?`,
    [project.id],
  )) as ProjectFacts;
  const user = await db.one<{ id: number; username: string; name: string; email: string }>(
    "select id, username, name, email from users where id = ?",
    [userId],
  );
  const { configurationPath } = await ciSettingsOf(db, project.id);
  const number = commitNumber(repository, sha);
  const commit = number === undefined ? undefined : await readCommit(repository, number);
  const image = nameOf(project.fullPath, "");
  const { host = "" } = URL.canParse(base) ? new URL(base) : {};
  const root = facts.namespace.split("/")[0] ?? "";
  const values: Record<string, string | undefined> = {
    CI: "true",
    GITLAB_CI: "true",
    ...serverVariables(base, edition),
    CI_REGISTRY: host,
    CI_REGISTRY_IMAGE: facts.without_registry === 1 ? undefined : `${host}/${image}`,
    ...(edition.sites && pagesVariables(edition.sites, base, { ...facts, ...project })),
    CI_TEMPLATE_REGISTRY_HOST: "registry.gitlab.com",
    GITLAB_FEATURES: "",
    CI_PIPELINE_SOURCE: source,
    ...(scheduleId && { CI_PIPELINE_SCHEDULE_DESCRIPTION: await scheduleOf(db, scheduleId) }),
    CI_CONFIG_PATH: configurationPath,
    CI_CONFIG_REF_URI: URL.canParse(base)
      ? configurationUri(base, project.fullPath, configurationPath, (tag ? TAGS : BRANCHES) + ref)
      : undefined,
    ...(upstream && {
      CI_UPSTREAM_JOB_ID: String(upstream.job),
      CI_UPSTREAM_PIPELINE_ID: String(upstream.pipeline),
      CI_UPSTREAM_PROJECT_ID: String(upstream.project),
    }),
    CI_DEPLOY_FREEZE: (await isFrozen(db, project.id, at)) ? "true" : undefined,
    CI_PROJECT_ID: String(project.id),
    CI_PROJECT_NAME: facts.path,
    CI_PROJECT_TITLE: facts.name,
    CI_PROJECT_PATH: project.fullPath,
    CI_PROJECT_PATH_SLUG: hostSlugOf(project.fullPath),
    CI_PROJECT_NAMESPACE: facts.namespace,
    CI_PROJECT_NAMESPACE_ID: String(facts.namespace_id),
    CI_PROJECT_NAMESPACE_SLUG: hostSlugOf(facts.namespace),
    CI_PROJECT_ROOT_NAMESPACE: root,
    CI_PROJECT_ROOT_NAMESPACE_SLUG: hostSlugOf(root),
    CI_PROJECT_DESCRIPTION: facts.description ?? "",
    CI_PROJECT_TOPICS: await topicsOf(db, project.id),
    CI_PROJECT_REPOSITORY_LANGUAGES: (await knownLanguages(db, project.id))
      ?.join(",")
      .toLowerCase(),
    CI_PROJECT_CLASSIFICATION_LABEL: "",
    CI_PROJECT_URL: `${base}/${project.fullPath}`,
    CI_PROJECT_VISIBILITY: VISIBILITY_WORDS[project.visibility],
    CI_DEFAULT_BRANCH: facts.default_branch ?? undefined,
    CI_DEFAULT_BRANCH_SLUG:
      facts.default_branch === null ? undefined : hostSlugOf(facts.default_branch),
    CI_COMMIT_SHA: sha,
    CI_COMMIT_SHORT_SHA: sha.slice(0, 8),
    CI_COMMIT_BEFORE_SHA: before,
    CI_COMMIT_REF_NAME: ref,
    CI_COMMIT_REF_SLUG: hostSlugOf(ref),
    CI_COMMIT_REF_PROTECTED: String(isProtected),
    ...(tag
      ? {
          CI_COMMIT_TAG: ref,
          CI_COMMIT_TAG_MESSAGE: await tagMessageOf(makers, ref),
          CI_RELEASE_DESCRIPTION: await releaseOf(db, project.id, ref),
        }
      : { CI_OPEN_MERGE_REQUESTS: await openRequestsOf(db, project.id, ref) }),
    ...(!tag &&
      !request && {
        CI_COMMIT_BRANCH: ref,
        CI_COMMIT_DEFAULT_BRANCH_BASE_SHA: await baseOf(makers, number, ref),
      }),
    ...(commit && (await commitVariables(db, commit))),
    ...(user && {
      GITLAB_USER_ID: String(user.id),
      GITLAB_USER_LOGIN: user.username,
      GITLAB_USER_NAME: user.name,
      GITLAB_USER_EMAIL: user.email,
    }),
    ...(request && (await requestVariables(db, base, request.id))),
    ...(request && (await isApproved(makers, request.id)) && { CI_MERGE_REQUEST_APPROVED: "true" }),
  };
  return Object.entries(values).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value }],
  );
}

/**
 * What configurations of a commit are read for.
 *
 * @param parent the id of the pipeline that starts this one, if one does
 */
export function circumstancesOf(
  { db, opened, includes }: Pick<Makers, "db" | "opened" | "includes">,
  target: Target,
  given: Pick<
    Circumstances,
    "predefined" | "variables" | "masked" | "inputs" | "areTexts" | "limits"
  >,
  parent?: number,
): Circumstances {
  const { repository, project, head, row, shown } = opened;
  const commit = commitNumber(repository, target.sha) as number;
  const commitAt = async (name: string) => {
    const refs = row ? await findRefs(db, row.id, refNamesOf(name, head)) : [];
    const found = new Map(refs.map((ref) => [ref.name, ref]));
    return findCommit({ repository, head, refs: found, shown }, name);
  };
  const changes = async (compareTo?: string) => {
    const { request, before } = target;
    const against = compareTo ?? request?.target_branch;
    let from = before === NO_SHA ? undefined : commitNumber(repository, before);
    if (against !== undefined) {
      const other = await commitAt(against);
      if (other === undefined && compareTo !== undefined) return null;
      from = other === undefined ? undefined : mergeBases(repository.graph, commit, [other])[0];
    }
    if (from === undefined) return undefined;
    const found = await changesBetween(repository, from, commit, opened.budget);
    return found.flatMap(({ from: old, to }) =>
      [old, to].flatMap((file) => (file ? [textOf(file.path)] : [])),
    );
  };
  return {
    pace: opened.budget,
    ref: target.ref,
    tag: target.tag,
    source: target.source,
    project: project.fullPath,
    sha: target.sha,
    ...given,
    elsewhere: elsewhereOf(
      { store: opened.store, db, viewer: project.viewer, includes, budget: opened.budget },
      parent,
    ),
    file: (path) => fileOf(repository, commit, path),
    paths: () => pathsOf(repository, commit),
    changes,
  };
}
