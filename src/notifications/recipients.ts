import { membershipsInProject } from "../core/access/memberships.ts";
import { mentionsIn } from "../core/mentions.ts";
import type { IssuableNotification } from "../jobs/notifications.ts";
import { ISSUE } from "../resources/issuables/issue.ts";
import { mentionedUsers } from "../resources/issuables/mentioned.ts";
import { MERGE_REQUEST } from "../resources/issuables/merge-request.ts";
import { readers } from "../resources/issuables/queries.ts";
import type { NoteableType } from "../resources/issuables/type.ts";
import { isIssuable, typeNamed } from "../resources/issuables/types.ts";
import { sendsMails } from "../resources/namespaces/mails.ts";
import { noteable } from "../resources/notes/json.ts";
import { NOTEABLE_TYPES } from "../resources/notes/noteables.ts";
import type { Flags, Level } from "../resources/notification-settings/queries.ts";
import { placeholders } from "../store/placeholders.ts";
import type { Reader, Value } from "../store/port.ts";
import { EVENTS, type MailReason, NOTIFICATIONS } from "./mail-reasons.ts";

/** A user who is notified of an event, a notice or the end of a pipeline. */
export interface Recipient {
  id: number;
  username: string;
  name: string;
  /** The address for notifications: from their settings, or their own. */
  email: string;
  /**
   * Why they are notified: they subscribed, were mentioned, are or were assigned or asked for a review, participate, watch, or chose
   * this kind of event; or a pipeline is theirs.
   */
  reason: Reason;
  /** The level that applies, from project, group or global settings. */
  level: Level;
  /** Of a push: the id of the merge request that they are notified about. */
  request?: number;
}

/** Why a user is notified. */
export type Reason =
  | "subscribed"
  | "mentioned"
  | "assignee"
  | "reviewer"
  | "participating"
  | "watching"
  | "custom"
  | "own pipeline";

/** An event, as notifications need it. */
export interface NotifiableEvent {
  id: number;
  project_id: number;
  author_id: number;
  action: string;
  target_type: string | null;
  target_id: number | null;
  /** The branch that was pushed, and its new commit; null for other events. */
  ref: string | null;
  commit_to: string | null;
  /** In epoch milliseconds. */
  created_at: number;
}

/** The content of a mail to one person. */
export interface Notification {
  /** What it is about, the same in every attempt to send it, and different for each one to the same person. */
  key: string;
  user_id: number;
  email: string;
  reason: Reason;
  /** What was done; before it stands the author, if it is not passive. */
  verb: string;
  /** Whether the thread about the subject begins with it. */
  begins: boolean;
  /** `null` if the mail does not say whose doing it is. */
  author: string | null;
  project: string;
  project_id: number;
  /** What it is about; for a note, its target. */
  subject_type: NoteableType;
  subject_id: number;
  /** The number in references: within the project; for a snippet its id. */
  number: number;
  title: string;
  note_id: number | null;
  /** The comment, or the description of what was created. */
  body: string | null;
}

/** The maximum number of users in one statement. */
const USERS = 1000;

/** The event with this id, or `undefined`. */
export async function findEvent(db: Reader, id: number): Promise<NotifiableEvent | undefined> {
  return db.one<NotifiableEvent>(
    "select id, project_id, author_id, action, target_type, target_id, ref, commit_to, created_at from events where id = ?",
    [id],
  );
}

/** Something that happened to a subject, as far as it decides who is told. */
interface NotificationEvent {
  readonly mailReason: MailReason;
  readonly subject: Subject;
  /** Who did it, and is not told. */
  readonly by: number | null;
  /** In epoch milliseconds. */
  readonly at: number;
  /** Whether the subject was created by it. */
  readonly begins: boolean;
  /** The users that it is about. */
  readonly about: readonly number[];
  /** Users who are told something else instead. */
  readonly except: readonly number[];
}

/** An event as what happened to each of its subjects. */
async function notificationEventsOf(
  db: Reader,
  event: NotifiableEvent,
): Promise<NotificationEvent[]> {
  const mailReason = EVENTS[`${event.action} ${event.target_type}`];
  if (!mailReason) return [];
  const begins = event.action === "created";
  const { author_id: by, created_at: at } = event;
  const subjects = await subjectsOf(db, event);
  return subjects.map((subject) => ({
    ...{ mailReason, subject, by, at, begins, about: [], except: [] },
  }));
}

/** A notice as what happened to its issue or merge request; `undefined` if that is deleted. */
async function notificationEventOf(
  db: Reader,
  notice: IssuableNotification,
): Promise<NotificationEvent | undefined> {
  const { by, at, about = [], except = [] } = notice;
  const [type, id] =
    "issue" in notice
      ? ([ISSUE, notice.issue] as const)
      : ([MERGE_REQUEST, notice.request] as const);
  const found = await db.one<Row>(`${ROW} from ${type.table} x where x.id = ?`, [id]);
  if (!found) return undefined;
  const subject = subjectOfRow(type, found);
  return {
    mailReason: NOTIFICATIONS[notice.notice],
    subject,
    by,
    at,
    begins: false,
    about,
    except,
  };
}

/**
 * The users who are notified of an event, which `record` (src/resources/events/record.ts) has passed on, and why: they
 * subscribed, are mentioned, participate, watch or chose this kind of event. Their settings for the project apply, else
 * those for the nearest ancestor group, else the global ones. The author, blocked users and users who may not read the
 * subject are left out. Every thousand users cost a few statements.
 *
 * @param today `YYYY-MM-DD`: memberships that expire on or before it do not count
 */
export async function recipients(
  db: Reader,
  event: NotifiableEvent,
  today: string,
): Promise<Recipient[]> {
  const notified: Recipient[] = [];
  for (const notificationEvent of await notificationEventsOf(db, event)) {
    const told = await recipientsAbout(db, notificationEvent, today);
    const request = event.action === "pushed" ? { request: notificationEvent.subject.id } : {};
    notified.push(...told.map((recipient) => ({ ...recipient, ...request })));
  }
  return notified;
}

/** The users who are notified of a notice, and why: see {@link recipients}. */
export async function recipientsOfNotice(
  db: Reader,
  notice: IssuableNotification,
  today: string,
): Promise<Recipient[]> {
  const notificationEvent = await notificationEventOf(db, notice);
  return notificationEvent ? recipientsAbout(db, notificationEvent, today) : [];
}

async function recipientsAbout(
  db: Reader,
  notificationEvent: NotificationEvent,
  today: string,
): Promise<Recipient[]> {
  const { subject, by, except, mailReason } = notificationEvent;
  const ties = await tiesOf(db, notificationEvent, today);
  for (const id of [by ?? 0, ...except]) ties.delete(id);
  const ids = [...ties.keys()].sort((one, other) => one - other);
  const notified: Recipient[] = [];
  if (ids.length === 0 || !(await sendsMails(db, subject.projectId))) return notified;
  for (let start = 0; start < ids.length; start += USERS) {
    const some = ids.slice(start, start + USERS);
    const chosen: Recipient[] = [];
    for (const { flags, ...person } of await settingsOf(db, subject.projectId, some)) {
      const asked = mailReason.flag !== undefined && flags[mailReason.flag] === true;
      const reason = reasonFor(person.level, asked, ties.get(person.id) as Set<Tie>);
      if (reason === "watching" && mailReason.isForParticipants) continue;
      if (reason) chosen.push({ ...person, reason });
    }
    const candidates = { ids: chosen.map(({ id }) => id) };
    const able = new Set(await readers(db, subject.type, subject, candidates, today));
    notified.push(...chosen.filter(({ id }) => able.has(id)));
  }
  return notified;
}

/**
 * The current content of a mail, or `undefined` if it should not be sent any more: the event was deleted, or the user
 * was blocked or may no longer read its subject.
 */
export async function findNotification(
  db: Reader,
  { event: eventId, user, reason, request }: Mail,
  today: string,
): Promise<Notification | undefined> {
  const event = await findEvent(db, eventId);
  const notificationEvents = event ? await notificationEventsOf(db, event) : [];
  const notificationEvent = notificationEvents.find(
    ({ subject: { id } }) => id === (request ?? id),
  );
  const key = `event-${eventId}${request === undefined ? "" : `-${request}`}`;
  return notificationEvent && contentOf(db, notificationEvent, { key, user, reason }, today);
}

/** The current content of a mail about a notice: see {@link findNotification}. */
export async function findNoticed(
  db: Reader,
  notice: IssuableNotification,
  mail: { key: string; user: number; reason: Reason },
  today: string,
): Promise<Notification | undefined> {
  const notificationEvent = await notificationEventOf(db, notice);
  return notificationEvent && contentOf(db, notificationEvent, mail, today);
}

async function contentOf(
  db: Reader,
  { mailReason, subject, by, begins }: NotificationEvent,
  { key, user, reason }: { key: string; user: number; reason: Reason },
  today: string,
): Promise<Notification | undefined> {
  const [reader] = await readers(db, subject.type, subject, { ids: [user] }, today);
  const [person] = reader === undefined ? [] : await settingsOf(db, subject.projectId, [user]);
  if (!person) return undefined;
  const found = await db.one<{ author: string | null; project: string }>(
    "select u.name as author, p.full_path as project from projects p left join users u on u.id = ? where p.id = ?",
    [by ?? 0, subject.projectId],
  );
  if (!found || (found.author === null && !mailReason.isPassive)) return undefined;
  return {
    key,
    user_id: user,
    email: person.email,
    reason,
    verb: mailReason.verb,
    begins,
    author: mailReason.isPassive ? null : found.author,
    project: found.project,
    project_id: subject.projectId,
    subject_type: subject.type,
    subject_id: subject.id,
    number: subject.number,
    title: subject.title,
    note_id: subject.noteId,
    body: subject.body,
  };
}

/** A mail about an event to one person. */
export interface Mail {
  readonly event: number;
  readonly user: number;
  readonly reason: Reason;
  /** Of a push: the merge request that it is about. */
  readonly request?: number;
}

/** The subject of an event: an issuable; for comments, what is commented on. */
interface Subject {
  projectId: number;
  type: NoteableType;
  id: number;
  number: number;
  title: string;
  /** The comment's. */
  noteId: number | null;
  /** The comment, or the description of what was created. */
  body: string | null;
}

/** What an event is about: a push is about each open merge request that got a version by it. */
async function subjectsOf(db: Reader, event: NotifiableEvent): Promise<Subject[]> {
  if (event.action !== "pushed") {
    const subject = await subjectOf(db, event);
    return subject ? [subject] : [];
  }
  const found = await db.all<Row>(
    `${ROW} from merge_requests x
     where x.source_project_id = ? and x.source_branch = ? and x.state = 'opened' and exists
       (select 1 from merge_request_versions v where v.merge_request_id = x.id
        and v.head_sha = ? and v.created_at = ? and exists
          (select 1 from merge_request_versions b where b.merge_request_id = x.id and b.id < v.id))
     order by x.id`,
    [event.project_id, event.ref, event.commit_to, event.created_at],
  );
  return found.map((row) => subjectOfRow(MERGE_REQUEST, row));
}

interface Row {
  id: number;
  project_id: number;
  iid: number;
  title: string;
}

/** Of a row `x` of issues or merge requests. */
const ROW = "select x.id, x.project_id, x.iid, x.title";

const subjectOfRow = (type: NoteableType, { id, project_id, iid, title }: Row): Subject => ({
  type,
  projectId: project_id,
  id,
  number: iid,
  title,
  noteId: null,
  body: null,
});

async function subjectOf(
  db: Reader,
  { action, project_id: projectId, target_type: className, target_id: id }: NotifiableEvent,
): Promise<Subject | undefined> {
  if (id === null) return undefined;
  const type = typeNamed(className);
  if (type) {
    const found = await db.one<{ iid: number; title: string; description: string | null }>(
      `select iid, title, description from ${type.table} where id = ?`,
      [id],
    );
    if (!found) return undefined;
    const { iid, title, description } = found;
    const body = action === "created" ? description : null;
    return { type, projectId, id, number: iid, title, noteId: null, body };
  }
  if (className !== "Note") return undefined;
  const note = await db.one<{
    body: string;
    class_name: string | null;
    id: number;
    number: number;
    title: string;
  }>(NOTE, [id]);
  const commented = NOTEABLE_TYPES.find((one) => one.className === note?.class_name);
  // Nobody is notified of comments on commits.
  if (!note || !commented) return undefined;
  const { class_name, ...subject } = note;
  return { type: commented, projectId, noteId: id, ...subject };
}

const NOTE = `select nt.body, ${noteable.className} as class_name, ${noteable.id} as id, ${noteable.number} as number,
    ${noteable.title} as title
  from notes nt ${noteable.joins} where nt.id = ?`;

/** A relation of a user to what happened. */
type Tie =
  | "participating"
  | "mentioned"
  | "assignee"
  | "reviewer"
  | "subscribed"
  | "unsubscribed"
  | "interested";

/** All users it may concern, by id. */
async function tiesOf(
  db: Reader,
  { mailReason, subject, at, begins, about }: NotificationEvent,
  today: string,
): Promise<Map<number, Set<Tie>>> {
  const { type, projectId: project, id, title, body } = subject;
  const { table, column } = type;
  const ties = new Map<number, Set<Tie>>();
  const tie = (rows: readonly Value[][]) => {
    for (const [userId, why] of rows) {
      const known = ties.get(userId as number);
      if (known) known.add(why as Tie);
      else ties.set(userId as number, new Set([why as Tie]));
    }
  };
  if (mailReason.about) tie(about.map((user) => [user, mailReason.about as Tie]));
  if (mailReason.isPersonal) {
    if (!isIssuable(type)) return ties;
    const among = placeholders(about.length > 0 ? about : [0]);
    tie(
      await db.rows(
        `select user_id, 'unsubscribed' from ${type.prefix}_subscriptions
         where ${column} = ? and subscribed = 0 and user_id in (${among.sql})`,
        [id, ...among.values],
      ),
    );
    return ties;
  }
  // Participants are the author and users who had commented by then.
  tie(
    await db.rows(
      `select author_id, 'participating' from ${table} where id = ? and author_id is not null
       union select author_id, 'participating' from notes
         where ${column} = ? and system = 0 and author_id is not null and created_at <= ?`,
      [id, id, at],
    ),
  );
  if (isIssuable(type)) {
    // So are assignees, reviewers, and users who had been mentioned by then. Then subscriptions.
    const { prefix, involved } = type;
    tie(
      await db.rows(
        `${involved.map((people) => `select user_id, 'participating' from ${people} where ${column} = ? union`).join(" ")}
         select user_id, 'participating' from todos
           where ${column} = ? and action in ('mentioned', 'directly_addressed') and created_at <= ?
         union select user_id, case when subscribed = 1 then 'subscribed' else 'unsubscribed' end
           from ${prefix}_subscriptions where ${column} = ?`,
        [...involved.map(() => id), id, at, id],
      ),
    );
    if (begins) {
      tie(
        await db.rows(
          `select ls.user_id, 'subscribed' from label_subscriptions ls
           join ${prefix}_labels x on x.label_id = ls.label_id where x.${column} = ?`,
          [id],
        ),
      );
    }
  }
  const members = membershipsInProject(project);
  // Users whose settings may include any event of the project; global settings count only for its members.
  const above = `select a.ancestor_id from namespace_ancestors a join projects p on p.namespace_id = a.namespace_id
    where p.id = ?`;
  tie(
    await db.rows(
      `select s.user_id, 'interested' from notification_settings s
       where s.level in ('watch', 'custom') and (s.project_id = ? or s.namespace_id in (${above}))
       union
       select s.user_id, 'interested' from notification_settings s
       join (${members.sql}) as m on m.user_id = s.user_id
       where s.scope = 'global' and s.level in ('watch', 'custom')`,
      [project, project, ...members.values],
    ),
  );
  const names = mentionsIn(begins ? [title, body] : [body]);
  if (names.length > 0) {
    const { sql, values } = mentionedUsers(names, today);
    tie(await db.rows(`select id, 'mentioned' from (${sql}) as mentioned`, values));
  }
  return ties;
}

/**
 * Why a user is notified, or `undefined` if they are not. As in GitLab's NotificationRecipient, subscribers are notified
 * at every level, and users who unsubscribed only if they are mentioned, assigned or asked for a review.
 */
function reasonFor(level: Level, asked: boolean, ties: Set<Tie>): Reason | undefined {
  if (ties.has("subscribed") && !ties.has("unsubscribed")) return "subscribed";
  if (level === "disabled") return undefined;
  if (ties.has("mentioned")) return "mentioned";
  if (ties.has("reviewer")) return "reviewer";
  if (ties.has("assignee")) return "assignee";
  if (level === "mention" || ties.has("unsubscribed")) return undefined;
  if (ties.has("participating")) return "participating";
  if (level === "watch") return "watching";
  return level === "custom" && asked ? "custom" : undefined;
}

/** An active user with the settings that apply to them in a project. */
interface Person extends Omit<Recipient, "reason"> {
  flags: Flags;
}

/** The active users with these ids, with the settings that apply to them in a project. */
export async function settingsOf(
  db: Reader,
  projectId: number,
  userIds: readonly number[],
): Promise<Person[]> {
  const among = placeholders(userIds);
  const people = await db.all<{ id: number; username: string; name: string; email: string }>(
    `select id, username, name, email from users
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
  const byUser = new Map<number, typeof settings>();
  for (const setting of settings) {
    const own = byUser.get(setting.user_id);
    if (own) own.push(setting);
    else byUser.set(setting.user_id, [setting]);
  }
  return people.map((person) => {
    const own = byUser.get(person.id) ?? [];
    const global = own.find((setting) => setting.scope === "global");
    const deciding = own.find((setting) => setting.level !== "global") ?? global;
    return {
      ...person,
      email: global?.notification_email ?? person.email,
      level: deciding?.level ?? "participating",
      flags: deciding ? JSON.parse(deciding.flags) : {},
    };
  });
}
