import { randomUUID } from "node:crypto";
import { BEING_DELETED } from "../../core/access/visibility.ts";
import { ApiError } from "../../core/errors.ts";
import type { HookEventKind } from "../../hooks/events.ts";
import type { Reader } from "../../store/port.ts";
import type { Delivery } from "./delivery.ts";

/** How a trigger is tried out: with the newest of a project's records, found by its id. */
interface Sample {
  readonly kind: HookEventKind;
  readonly action?: string;
  /** A query of one column or more for a project, the newest first. Without one, there are no such records. */
  readonly sql?: string;
  /** What the project needs to have, as the answer says. */
  readonly missing: string;
}

const newest = (table: string, where: string) =>
  `select x.id from ${table} x where x.project_id = ? and ${where} order by x.id desc limit 1`;
const refs = (what: string) => `select r.oid, r.name from git_repositories g
  join git_refs r on r.repository_id = g.id join projects p on p.id = g.project_id
  where g.project_id = ? and g.kind = 'code' and ${what} limit 1`;

const SAMPLES: Readonly<Record<string, Sample>> = {
  push_events: {
    kind: "push",
    sql: refs("r.name = 'refs/heads/' || p.default_branch"),
    missing: "commits",
  },
  tag_push_events: {
    kind: "tag_push",
    sql: refs("r.name > 'refs/tags/' and r.name < 'refs/tags0'"),
    missing: "tags",
  },
  issues_events: {
    kind: "issue",
    action: "open",
    sql: newest("issues", "x.confidential = 0"),
    missing: "issues",
  },
  confidential_issues_events: {
    kind: "issue",
    action: "open",
    sql: newest("issues", "x.confidential = 1"),
    missing: "confidential issues",
  },
  note_events: {
    kind: "note",
    action: "create",
    sql: newest("notes", "x.system = 0 and x.internal = 0"),
    missing: "notes",
  },
  confidential_note_events: {
    kind: "note",
    action: "create",
    sql: newest("notes", "x.system = 0 and x.internal = 1"),
    missing: "internal notes",
  },
  merge_requests_events: {
    kind: "merge_request",
    action: "open",
    sql: newest("merge_requests", "1 = 1"),
    missing: "merge requests",
  },
  wiki_page_events: {
    kind: "wiki_page",
    action: "create",
    sql: `select w.project_id, w.slug, w.title, w.format from wiki_pages w where w.project_id = ?
      order by w.id desc limit 1`,
    missing: "wiki pages",
  },
  pipeline_events: {
    kind: "pipeline",
    sql: newest("pipelines", "1 = 1"),
    missing: "CI/CD pipelines",
  },
  job_events: {
    kind: "build",
    sql: newest("ci_jobs", "x.kind = 'build'"),
    missing: "CI/CD jobs",
  },
  releases_events: {
    kind: "release",
    action: "create",
    sql: newest("releases", "1 = 1"),
    missing: "releases",
  },
  deployment_events: {
    kind: "deployment",
    sql: newest("deployments", "1 = 1"),
    missing: "deployments",
  },
  feature_flag_events: {
    kind: "feature_flag",
    sql: newest("feature_flags", "1 = 1"),
    missing: "feature flags",
  },
  milestone_events: {
    kind: "milestone",
    action: "create",
    sql: newest("milestones", "x.removed = 0"),
    missing: "milestones",
  },
  emoji_events: {
    kind: "emoji",
    action: "award",
    sql: `select x.id from notes nt join award_emoji x on x.note_id = nt.id
      where nt.project_id = ? and nt.internal = 0 order by nt.id desc, x.id desc limit 1`,
    missing: "emoji on notes",
  },
  resource_access_token_events: {
    kind: "access_token",
    sql: `select t.id from resource_bots rb join tokens t on t.user_id = rb.user_id
      where rb.project_id = ? order by rb.user_id desc, t.id desc limit 1`,
    missing: "access tokens",
  },
};

/** The triggers that can be tried out. */
export const TRIGGERS = Object.keys(SAMPLES);

/**
 * A delivery about the newest record of a project, or of the first project below a group, for trying out a hook.
 *
 * @throws ApiError 422 if there is no such record
 */
export async function sampleOf(
  db: Reader,
  owner: { readonly kind: "group" | "project"; readonly id: number },
  trigger: string,
  { userId, now }: { readonly userId: number; readonly now: number },
): Promise<Omit<Delivery, "id" | "hook_id">> {
  const { kind, action, sql = "", missing } = SAMPLES[trigger] as Sample;
  const projectId = owner.kind === "project" ? owner.id : await firstProject(db, owner.id);
  const [found] = projectId === undefined ? [] : await db.rows(sql, [projectId]);
  if (!found) throw new ApiError(422, { message: `Ensure the project has ${missing}.` });
  const [first, ref, title, format] = found;
  const data =
    kind === "push" || kind === "tag_push"
      ? { id: projectId, ref, before: null, after: first, count: 1 }
      : kind === "wiki_page"
        ? { id: projectId, action, slug: ref, title, format }
        : { id: first, action };
  return {
    event_uuid: randomUUID(),
    kind,
    user_id: userId,
    data: JSON.stringify(data),
    created_at: now,
    request_data: null,
    request_headers: null,
    trigger_name: null,
    pending: 0,
  };
}

async function firstProject(db: Reader, groupId: number): Promise<number | undefined> {
  const [found] = await db.rows(
    `select p.id from namespace_ancestors a join projects p on p.namespace_id = a.namespace_id
     where a.ancestor_id = ? and p.visibility > ${BEING_DELETED} order by p.id limit 1`,
    [groupId],
  );
  return found?.[0] as number | undefined;
}

/** What system hooks are tried out with: GitLab's example. */
export const SYSTEM_SAMPLE = {
  event_name: "project_create",
  name: "Ruby",
  path: "ruby",
  project_id: 1,
  owner_name: "Someone",
  owner_email: "example@gitlabhq.com",
};
