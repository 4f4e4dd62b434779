import { memberProjects, type Viewer, visibleProjects } from "../../core/access.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader, Value } from "../../store/port.ts";
import type { Flag, Flags, Level } from "./queries.ts";

/** Somebody who is to be told of an event. */
export interface Recipient {
  id: number;
  username: string;
  name: string;
  /** Where notifications go: the address of their settings, or their own. */
  email: string;
  /** What decided: they take part, were named, watch, or asked for this kind of event. */
  reason: "participating" | "mentioned" | "watching" | "custom";
  /** The level that decided, after project, group and global settings. */
  level: Level;
}

/** What happened, as notifications look at it. */
export interface NotifiableEvent {
  id: number;
  project_id: number;
  author_id: number;
  action: string;
  target_type: string | null;
  target_id: number | null;
}

const FLAG_OF: Readonly<Record<string, Flag>> = {
  "created Issue": "new_issue",
  "closed Issue": "close_issue",
  "reopened Issue": "reopen_issue",
  "created MergeRequest": "new_merge_request",
  "closed MergeRequest": "close_merge_request",
  "reopened MergeRequest": "reopen_merge_request",
  "merged MergeRequest": "merge_merge_request",
  "commented Note": "new_note",
};

/** The event with this id, or `undefined`. */
export async function findEvent(db: Reader, id: number): Promise<NotifiableEvent | undefined> {
  const found = await db.one<NotifiableEvent>(
    "select id, project_id, author_id, action, target_type, target_id from events where id = ?",
    [id],
  );
  return found;
}

/** What an event is about: an issue or a merge request, itself or what was commented on. */
interface Subject {
  issueId: number | null;
  mergeRequestId: number | null;
  /** The texts in which people may be named. */
  texts: string[];
}

/**
 * Who is to be told of an event, and why: those who take part, are named, watch or asked for it, by their settings for
 * the project, else for the nearest group above, else for everything. Never its author, never somebody who is blocked
 * or may not see it.
 *
 * @param today `YYYY-MM-DD`: memberships that expire on or before it are over
 */
export async function recipients(
  db: Reader,
  event: NotifiableEvent,
  today: string,
): Promise<Recipient[]> {
  const flag = FLAG_OF[`${event.action} ${event.target_type}`];
  if (!flag) return [];
  const subject = await subjectOf(db, event);
  const mentioned = await usersNamed(db, subject.texts);
  const participants = await participantsOf(db, subject);
  const interested = await interestedIn(db, event.project_id);
  const ids = [...new Set([...mentioned, ...participants, ...interested])];
  ids.splice(ids.indexOf(event.author_id), ids.includes(event.author_id) ? 1 : 0);
  if (ids.length === 0) return [];

  const people = await settingsOf(db, event.project_id, ids);
  const told: Recipient[] = [];
  for (const person of people) {
    const reason = reasonFor(person, flag, {
      mentioned: mentioned.includes(person.id),
      participating: participants.includes(person.id),
    });
    if (!reason || !(await maySee(db, person, event.project_id, subject.issueId, today))) continue;
    const { id, username, name, email, level } = person;
    told.push({ id, username, name, email, level, reason });
  }
  return told;
}

interface Person {
  id: number;
  username: string;
  name: string;
  email: string;
  admin: boolean;
  external: boolean;
  level: Level;
  flags: Flags;
}

function reasonFor(
  { level, flags }: Person,
  flag: Flag,
  is: { mentioned: boolean; participating: boolean },
): Recipient["reason"] | undefined {
  if (level === "disabled") return undefined;
  if (is.mentioned) return "mentioned";
  if (level === "mention") return undefined;
  if (is.participating) return "participating";
  if (level === "watch") return "watching";
  return level === "custom" && flags[flag] ? "custom" : undefined;
}

async function subjectOf(db: Reader, event: NotifiableEvent): Promise<Subject> {
  const id = event.target_id as number;
  if (event.target_type === "Note") {
    const note = await db.one<{
      body: string;
      issue_id: number | null;
      merge_request_id: number | null;
    }>("select body, issue_id, merge_request_id from notes where id = ?", [id]);
    return {
      issueId: note?.issue_id ?? null,
      mergeRequestId: note?.merge_request_id ?? null,
      texts: [note?.body ?? ""],
    };
  }
  const isIssue = event.target_type === "Issue";
  const target = await db.one<{ title: string; description: string | null }>(
    `select title, description from ${isIssue ? "issues" : "merge_requests"} where id = ?`,
    [id],
  );
  return {
    issueId: isIssue ? id : null,
    mergeRequestId: isIssue ? null : id,
    texts: event.action === "created" ? [target?.title ?? "", target?.description ?? ""] : [],
  };
}

async function ids(db: Reader, sql: string, values: readonly Value[]): Promise<number[]> {
  return (await db.rows(sql, values)).map(([id]) => id as number);
}

/** Who is named with an `@` before their user name. */
async function usersNamed(db: Reader, texts: readonly string[]): Promise<number[]> {
  const names = texts.flatMap((text) =>
    [...text.matchAll(/(?<![\w`/])@([a-z0-9_][a-z0-9_.-]*[a-z0-9_]|[a-z0-9_])/gi)].map(([, name]) =>
      (name as string).toLowerCase(),
    ),
  );
  if (names.length === 0) return [];
  const among = placeholders([...new Set(names)].slice(0, 100));
  return ids(db, `select id from users where lower(username) in (${among.sql})`, among.values);
}

/** The author, whoever is assigned and whoever commented. */
async function participantsOf(db: Reader, subject: Subject): Promise<number[]> {
  const { issueId, mergeRequestId } = subject;
  const [table, column, id] =
    issueId === null
      ? ["merge_request", "merge_request_id", mergeRequestId ?? 0]
      : ["issue", "issue_id", issueId];
  return ids(
    db,
    `select author_id from ${table}s where id = ? and author_id is not null
     union select user_id from ${table}_assignees where ${column} = ?
     union select author_id from notes where ${column} = ? and system = 0 and author_id is not null`,
    [id, id, id],
  );
}

/** Whoever has settings that may make them hear of anything in a project; members, where it is their global ones. */
function interestedIn(db: Reader, projectId: number): Promise<number[]> {
  return ids(
    db,
    `select s.user_id from notification_settings s
     where s.level in ('watch', 'custom') and (s.project_id = ? or s.namespace_id in (
       select a.ancestor_id from namespace_ancestors a join projects p on p.namespace_id = a.namespace_id
       where p.id = ?))
     union
     select s.user_id from notification_settings s join members m on m.user_id = s.user_id
     where s.scope = 'global' and s.level in ('watch', 'custom') and (m.project_id = ? or m.namespace_id in (
       select a.ancestor_id from namespace_ancestors a join projects p on p.namespace_id = a.namespace_id
       where p.id = ?))`,
    [projectId, projectId, projectId, projectId],
  );
}

/** The people of these ids who are active, with the settings that hold for them in a project. */
async function settingsOf(
  db: Reader,
  projectId: number,
  userIds: readonly number[],
): Promise<Person[]> {
  const among = placeholders(userIds);
  const people = await db.all<{
    id: number;
    username: string;
    name: string;
    email: string;
    admin: number;
    external: number;
  }>(
    `select id, username, name, email, admin, external from users
     where id in (${among.sql}) and state = 'active' order by id`,
    among.values,
  );
  // The project's own settings first, then the nearest group's, the global ones last.
  const settings = await db.all<{
    user_id: number;
    scope: string;
    level: Level;
    flags: string;
    notification_email: string | null;
  }>(
    `select s.user_id, s.scope, s.level, s.flags, s.notification_email from notification_settings s
     left join projects p on p.id = ?
     left join namespace_ancestors a on a.namespace_id = p.namespace_id and a.ancestor_id = s.namespace_id
     where s.user_id in (${among.sql})
       and (s.scope = 'global' or s.project_id = p.id or a.ancestor_id is not null)
     order by case when s.project_id is not null then 0 when s.scope = 'global' then 2 else 1 end, a.depth`,
    [projectId, ...among.values],
  );
  return people.map((person) => {
    const own = settings.filter((setting) => setting.user_id === person.id);
    const global = own.find((setting) => setting.scope === "global");
    const deciding = own.find((setting) => setting.level !== "global") ?? global;
    return {
      ...person,
      admin: person.admin === 1,
      external: person.external === 1,
      email: global?.notification_email ?? person.email,
      level: deciding?.level ?? "participating",
      flags: deciding ? JSON.parse(deciding.flags) : {},
    };
  });
}

/** Whether somebody can read the project and, where it is confidential, the issue. */
async function maySee(
  db: Reader,
  person: Person,
  projectId: number,
  issueId: number | null,
  today: string,
): Promise<boolean> {
  const viewer: Viewer = { caller: person, today };
  const visible = visibleProjects(viewer);
  const reporter = memberProjects(viewer, "reporter");
  const found = await db.rows(
    `select 1 from projects p left join issues i on i.id = ?
     where p.id = ? and ${visible.sql}
       and (i.id is null or i.confidential = 0 or i.author_id = ? or ${person.admin ? "1 = 1" : "1 = 0"}
         or exists (select 1 from issue_assignees ia where ia.issue_id = i.id and ia.user_id = ?)
         or ${reporter.sql})`,
    [issueId ?? 0, projectId, ...visible.values, person.id, person.id, ...reporter.values],
  );
  return found.length > 0;
}
