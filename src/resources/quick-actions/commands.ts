import type { Route } from "../../core/resource.ts";
import { dayOf } from "../../core/time.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader } from "../../store/port.ts";
import { placeRoute } from "../hierarchy/changes.ts";
import { parentIdOf } from "../hierarchy/queries.ts";
import { mayPlan } from "../issuables/abilities.ts";
import { ISSUE_TYPES, type IssueType } from "../issuables/attributes.ts";
import { humanDuration, parseDuration } from "../issuables/duration.ts";
import { ISSUE, SEVERITIES, severityName } from "../issuables/issue.ts";
import { isDraft, MERGE_REQUEST, withoutDraft } from "../issuables/merge-request.ts";
import * as issuables from "../issuables/queries.ts";
import type { IssuableType, Writing } from "../issuables/type.ts";
import { setIteration } from "../issue-iterations.ts";
import * as iterations from "../iterations/queries.ts";
import { currentOf } from "../iterations/schedule.ts";
import * as labels from "../labels/queries.ts";
import * as milestones from "../milestones/queries.ts";
import { timelogRoutes } from "../time-tracking/timelogs.ts";
import { dayIn, iterationIn, namesIn, spentIn, titleIn } from "./arguments.ts";

/** What the commands of a text are about. */
export interface About extends Pick<Writing, "source" | "caller" | "viewer" | "now" | "head"> {
  readonly db: Reader;
  readonly type: IssuableType;
  readonly found: issuables.Issuable;
  /** What the commands so far have set: the ids of users, by the attribute that sets them, and the title. */
  readonly people: Map<PeopleAttribute, number[]>;
  title: string;
}

type PeopleAttribute = "assignee_ids" | "reviewer_ids";

/** A route to perform: its method and path, or itself if it has no address, and its parameters. */
export interface RouteCall {
  readonly route: string | Route;
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** A route of the issue or merge request itself, or below it. @param number what its path calls the number */
export function routeAt(
  { type, source, found }: Pick<About, "type" | "source" | "found">,
  method: string,
  path: string,
  parameters: object = {},
  number: string = type.parameter,
): RouteCall {
  return {
    route: `${method} /projects/:id/${type.path}/:${number}${path}`,
    parameters: { id: source.id, [number]: found.iid, ...parameters },
  };
}

/** What a command stands for. */
export interface Step {
  /** Attributes of the change of the issue or merge request. Lists add up; others replace those of earlier commands. */
  readonly change?: Readonly<Record<string, unknown>>;
  /** Other routes. */
  readonly routes?: readonly RouteCall[];
  /** What clients are told that was changed, in GitLab's names. */
  readonly changes?: Readonly<Record<string, unknown>>;
  /** What people are told. */
  readonly summary: string;
}

/** A command: what it stands for with an argument, or `undefined` if it can't be performed. */
interface Definition {
  readonly types?: readonly IssuableType[];
  /** Whether it needs an argument. */
  readonly hasArgument?: true;
  /** Whether it is for those who may plan. */
  readonly plans?: true;
  step(about: About, argument: string): Promise<Step | undefined> | Step | undefined;
}

const ISSUES = [ISSUE];
const REQUESTS = [MERGE_REQUEST];

const sentence = (names: readonly string[]) =>
  names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;

/** A step that sets attributes. @param changes what clients are told, if that has other names */
const sets = (
  change: NonNullable<Step["change"]>,
  summary: string,
  changes: Step["changes"] = change,
): Step => ({ change, changes, summary });

const setState = (event: "close" | "reopen"): Definition => ({
  step: ({ type, found }) =>
    found.state === (event === "close" ? "opened" : "closed")
      ? sets(
          { state_event: event },
          `${event === "close" ? "Closed" : "Reopened"} this ${type.name}.`,
        )
      : undefined,
});

const LABEL_WORDS = {
  add: { attribute: "add_labels", ids: "add_label_ids", done: "Added" },
  remove: { attribute: "remove_labels", ids: "remove_label_ids", done: "Removed" },
  replace: { attribute: "labels", ids: "label_ids", done: "Replaced all labels with" },
} as const;

const setLabels = (mode: keyof typeof LABEL_WORDS): Definition => ({
  plans: true,
  ...(mode !== "remove" && { hasArgument: true }),
  step: async ({ db, source }, argument) => {
    const { attribute, ids, done } = LABEL_WORDS[mode];
    if (argument === "") return sets({ labels: [] }, "Removed all labels.", { label_ids: [] });
    const known = await labels.findNamed(db, source, namesIn(argument));
    if (known.size === 0) return undefined;
    const names = [...known.keys()];
    const written = sentence(names.map((name) => `~"${name}"`));
    const summary = `${done} ${written} ${known.size === 1 ? "label" : "labels"}.`;
    return sets({ [attribute]: names }, summary, { [ids]: [...known.values()] });
  },
});

/** An iteration as texts refer to it. */
const referTo = ({ id, title }: Pick<iterations.Iteration, "id" | "title">) =>
  `*iteration:${title === null ? id : `"${title}"`}`;

/** A step that puts an issue into an iteration, or takes it out. */
const inIteration = (about: About, id: number | null, summary: string): Step => ({
  routes: [
    {
      route: setIteration,
      parameters: { id: about.source.id, issue_iid: about.found.iid, iteration_id: id },
    },
  ],
  changes: { iteration_id: id },
  summary,
});

/** The iteration that an argument names: itself, or the current or next one of a cadence. */
async function iterationNamed(
  { db, source, now }: About,
  argument: string,
): Promise<iterations.Iteration | undefined> {
  const named = iterationIn(argument);
  if (!named) return undefined;
  if ("of" in named) return iterations.findFor(db, source, named.of);
  const cadences = await iterations.cadencesFor(db, source, named.cadence);
  const [cadence] = cadences;
  if (!cadence || cadences.length > 1) return undefined;
  const present = await iterations.ofCadence(db, cadence.id);
  const today = dayOf(now);
  return named.which === "current"
    ? currentOf(present, today)
    : present.find(({ start_date }) => start_date > today);
}

const iteration: Definition = {
  types: ISSUES,
  plans: true,
  hasArgument: true,
  step: async (about, argument) => {
    const found = await iterationNamed(about, argument);
    return found && inIteration(about, found.id, `Set the iteration to ${referTo(found)}.`);
  },
};

const PEOPLE = {
  assignee_ids: { word: "assignee", table: ({ prefix }: IssuableType) => `${prefix}_assignees` },
  reviewer_ids: { word: "reviewer", table: () => "merge_request_reviewers" },
} as const;

async function peopleOf(about: About, attribute: PeopleAttribute): Promise<number[]> {
  const set = about.people.get(attribute);
  if (set) return set;
  const { db, type, found } = about;
  const rows = await db.rows(
    `select user_id from ${PEOPLE[attribute].table(type)} where ${type.column} = ? order by user_id`,
    [found.id],
  );
  return rows.map(([id]) => id as number);
}

/** The users who are named in an argument, and may read what is changed. */
async function usersIn({ db, type, found, caller, viewer }: About, argument: string) {
  const usernames = namesIn(argument).map((name) =>
    name === "me" ? caller.username.toLowerCase() : name.toLowerCase(),
  );
  const ids = await issuables.readers(db, type, found, { usernames }, viewer.today);
  if (ids.length === 0) return [];
  const among = placeholders(ids);
  return db.all<{ id: number; username: string }>(
    `select id, username from users where id in (${among.sql}) order by id`,
    among.values,
  );
}

const PEOPLE_WORDS = { add: "Assigned", remove: "Removed", replace: "Changed" } as const;

const setPeople = (attribute: PeopleAttribute, mode: keyof typeof PEOPLE_WORDS): Definition => ({
  ...(attribute === "reviewer_ids" && { types: REQUESTS }),
  plans: true,
  ...(mode !== "remove" && { hasArgument: true }),
  step: async (about, argument) => {
    const before = await peopleOf(about, attribute);
    const users = argument === "" ? undefined : await usersIn(about, argument);
    if (users?.length === 0 || (!users && before.length === 0)) return undefined;
    const named = users?.map(({ id }) => id) ?? before;
    const after = {
      add: [...new Set([...before, ...named])],
      remove: before.filter((id) => !named.includes(id)),
      replace: named,
    }[mode];
    about.people.set(attribute, after);
    const { word } = PEOPLE[attribute];
    const names = sentence((users ?? []).map(({ username }) => `@${username}`));
    const role = named.length === 1 ? word : `${word}s`;
    const summary = `${PEOPLE_WORDS[mode]} ${mode === "replace" ? `${role} to ` : ""}${names || `all ${word}s`}${mode === "add" ? ` as ${role}` : ""}.`;
    return sets({ [attribute]: after.length > 0 ? after : [0] }, summary, { [attribute]: after });
  },
});

const flag = (
  attribute: "discussion_locked" | "confidential",
  value: boolean,
  summary: string,
  more: Partial<Definition> = {},
): Definition => ({
  ...more,
  step: () => sets({ [attribute]: value }, summary),
});

const setDraft = (draft: boolean): Definition => ({
  types: REQUESTS,
  step: (about) => {
    if (isDraft(about.title) === draft) return undefined;
    about.title = draft ? `Draft: ${about.title}` : withoutDraft(about.title);
    const words = { wip_event: draft ? "draft" : "ready" };
    const summary = `Marked this merge request as ${draft ? "a draft" : "ready"}.`;
    return sets({ title: about.title }, summary, words);
  },
});

const subscription = (verb: "subscribe" | "unsubscribe"): Definition => ({
  step: (about) => ({
    routes: [routeAt(about, "POST", `/${verb}`)],
    changes: { subscription_event: verb },
    summary: `${verb === "subscribe" ? "Subscribed to" : "Unsubscribed from"} this ${about.type.name}.`,
  }),
});

/** What the paths of emoji call the number. */
const NOTEABLE = "noteable_id";

const award: Definition = {
  hasArgument: true,
  step: async (about, argument) => {
    const { db, type, found, caller } = about;
    const name = /^:?([\w+-]{1,100}):?$/.exec(argument)?.[1];
    if (name === undefined) return undefined;
    const given = await db.one<{ id: number }>(
      `select id from award_emoji where ${type.column} = ? and name = ? and user_id = ?`,
      [found.id, name, caller.id],
    );
    return {
      routes: [
        given
          ? routeAt(about, "DELETE", "/award_emoji/:award_id", { award_id: given.id }, NOTEABLE)
          : routeAt(about, "POST", "/award_emoji", { name }, NOTEABLE),
      ],
      changes: { emoji_award: name },
      summary: `Toggled :${name}: emoji award.`,
    };
  },
};

const done: Definition = {
  step: async ({ db, type, found, caller }) => {
    const todo = await db.one<{ id: number }>(
      `select id from todos where ${type.column} = ? and user_id = ? and state = 'pending'`,
      [found.id, caller.id],
    );
    if (!todo) return undefined;
    return {
      routes: [{ route: "POST /todos/:todo_id/mark_as_done", parameters: { todo_id: todo.id } }],
      changes: { todo_event: "done" },
      summary: "Marked to-do item as done.",
    };
  },
};

const ISSUE_REFERENCE = /^([\w./-]{1,1000})?#(\d{1,9})$/;

const relate = (isDuplicate: boolean): Definition => ({
  types: ISSUES,
  hasArgument: true,
  plans: true,
  step: (about, argument) => {
    const { source, found } = about;
    const [, project, iid] = ISSUE_REFERENCE.exec(argument) ?? [];
    if (iid === undefined || (isDuplicate && found.state !== "opened")) return undefined;
    const parameters = { target_project_id: project ?? String(source.id), target_issue_iid: iid };
    return {
      routes: [
        routeAt(about, "POST", "/links", parameters),
        ...(isDuplicate ? [routeAt(about, "PUT", "", { state_event: "close" })] : []),
      ],
      ...(isDuplicate && { changes: { state_event: "close" } }),
      summary: isDuplicate
        ? `Marked this issue as a duplicate of ${argument}.`
        : `Added ${argument} as a linked item related to this issue.`,
    };
  },
});

/** The issue of a reference: of the same project, or of one that it names. */
async function issueIn({ db, source }: About, argument: string) {
  const [, project = source.fullPath, iid] = ISSUE_REFERENCE.exec(argument) ?? [];
  const [row] = await db.rows(
    `select i.id, i.iid from projects p join issues i on i.project_id = p.id
     where lower(p.full_path) = lower(?) and i.iid = ?`,
    [project, Number(iid ?? 0)],
  );
  return row && { id: row[0] as number, iid: row[1] as number };
}

/** Which issue is put below which one, or away: whether the caller may do so is for the route to say. */
type Place = { readonly iid: number; readonly parent_id: number | null };

/** A command about an issue and another one. */
const placed = (
  read: (
    about: About,
    other: { readonly id: number; readonly iid: number },
  ) => Promise<Place | undefined> | Place,
  done: (reference: string) => string,
): Definition => ({
  types: ISSUES,
  hasArgument: true,
  step: async (about, argument) => {
    const other = await issueIn(about, argument);
    const place = other && (await read(about, other));
    return place && placeStep(about, place, done(argument));
  },
});

const placeStep = ({ source }: About, place: Place, summary: string): Step => ({
  routes: [{ route: placeRoute, parameters: { id: source.id, ...place } }],
  summary,
});

const move: Definition = {
  types: ISSUES,
  hasArgument: true,
  plans: true,
  step: async (about, argument) => {
    const project = await about.db.one<{ id: number }>(
      "select id from projects where lower(full_path) = lower(?)",
      [argument],
    );
    // Whether the caller may see it is for the route to say, in the same words as for one that does not exist.
    return {
      routes: [routeAt(about, "POST", "/move", { to_project_id: project?.id ?? 0 })],
      summary: `Moved this issue to ${argument}.`,
    };
  },
};

const approval = (verb: "approve" | "unapprove"): Definition => ({
  types: REQUESTS,
  step: (about) => ({
    routes: [routeAt(about, "POST", `/${verb}`)],
    summary: `${verb === "approve" ? "Approved" : "Unapproved"} the current merge request.`,
  }),
});

/** The type that an argument names, in any case and with spaces. */
const typeIn = (argument: string): IssueType | undefined =>
  ISSUE_TYPES.find((type) => type === argument.toLowerCase().replaceAll(" ", "_"));

const setType = (
  typeOf: (argument: string) => IssueType | undefined,
  done: string,
): Definition => ({
  types: ISSUES,
  step: ({ found }, argument) => {
    const issue_type = typeOf(argument);
    return issue_type === undefined || issue_type === found.issue_type
      ? undefined
      : sets({ issue_type }, done);
  },
});

/** A severity by its name or by its number: `high`, `S2` or `2`. */
function severityIn(argument: string): (typeof SEVERITIES)[number] | undefined {
  const [, number] = /^s?([1-4])$/i.exec(argument) ?? [];
  if (number !== undefined) return SEVERITIES[Number(number) - 1];
  return SEVERITIES.find((severity) => severity === argument.toLowerCase());
}

/** All commands by their first name. */
const DEFINITIONS: Readonly<Record<string, Definition>> = {
  close: setState("close"),
  reopen: setState("reopen"),
  title: {
    hasArgument: true,
    step: (about, title) => {
      about.title = title;
      return sets({ title }, `Changed the title to "${title}".`);
    },
  },
  label: setLabels("add"),
  unlabel: setLabels("remove"),
  relabel: setLabels("replace"),
  assign: setPeople("assignee_ids", "add"),
  unassign: setPeople("assignee_ids", "remove"),
  reassign: setPeople("assignee_ids", "replace"),
  assign_reviewer: setPeople("reviewer_ids", "add"),
  unassign_reviewer: setPeople("reviewer_ids", "remove"),
  reassign_reviewer: setPeople("reviewer_ids", "replace"),
  milestone: {
    plans: true,
    hasArgument: true,
    step: async ({ db, source }, argument) => {
      const found = await milestones.findFor(db, source, { title: titleIn(argument) });
      return found && sets({ milestone_id: found.id }, `Set the milestone to %"${found.title}".`);
    },
  },
  iteration,
  remove_iteration: {
    types: ISSUES,
    plans: true,
    step: async (about) => {
      const { db, source, found } = about;
      const { iteration_id: id } = found;
      const set = id ? await iterations.findFor(db, source, { id }) : undefined;
      return set && inIteration(about, null, `Removed ${referTo(set)} iteration.`);
    },
  },
  remove_milestone: {
    plans: true,
    step: ({ found }) =>
      found.milestone_id === null
        ? undefined
        : sets({ milestone_id: 0 }, "Removed the milestone.", { milestone_id: null }),
  },
  due: {
    types: ISSUES,
    plans: true,
    hasArgument: true,
    step: ({ now }, argument) => {
      const day = dayIn(argument, dayOf(now));
      return day === undefined ? undefined : sets({ due_date: day }, `Set the due date to ${day}.`);
    },
  },
  remove_due_date: {
    types: ISSUES,
    plans: true,
    step: () => sets({ due_date: null }, "Removed the due date."),
  },
  weight: {
    types: ISSUES,
    plans: true,
    hasArgument: true,
    step: (_, argument) =>
      /^\d{1,9}$/.test(argument)
        ? sets({ weight: Number(argument) }, `Set weight to ${argument}.`)
        : undefined,
  },
  clear_weight: {
    types: ISSUES,
    plans: true,
    step: () => sets({ weight: null }, "Cleared weight."),
  },
  set_parent: placed(
    ({ found }, { id }) => ({ iid: found.iid, parent_id: id }),
    (reference) => `Parent item set to ${reference}.`,
  ),
  remove_parent: {
    types: ISSUES,
    step: async (about) => {
      const { db, found } = about;
      if ((await parentIdOf(db, found.id)) === null) return undefined;
      return placeStep(about, { iid: found.iid, parent_id: null }, "Parent item removed.");
    },
  },
  add_child: placed(
    ({ found }, { iid }) => ({ iid, parent_id: found.id }),
    (reference) => `Child items added: ${reference}.`,
  ),
  remove_child: placed(
    async ({ db, found }, { id, iid }) =>
      (await parentIdOf(db, id)) === found.id ? { iid, parent_id: null } : undefined,
    (reference) => `Child item removed: ${reference}.`,
  ),
  type: setType(typeIn, "Type changed successfully."),
  promote_to: setType(
    (argument) => (/^(issue|incident)$/i.test(argument) ? typeIn(argument) : undefined),
    "Promoted successfully.",
  ),
  promote_to_incident: setType(() => "incident", "Issue has been promoted to incident."),
  severity: {
    types: ISSUES,
    plans: true,
    hasArgument: true,
    step: ({ found }, argument) => {
      const severity = severityIn(argument);
      return severity === undefined || found.issue_type !== "incident"
        ? undefined
        : sets({ severity }, `Severity was set to ${severityName(severity)}.`);
    },
  },
  estimate: {
    plans: true,
    hasArgument: true,
    step: (about, duration) => {
      const seconds = parseDuration(duration);
      return seconds === undefined
        ? undefined
        : {
            routes: [routeAt(about, "POST", "/time_estimate", { duration })],
            changes: { time_estimate: seconds },
            summary: `Set time estimate to ${humanDuration(seconds) ?? "0h"}.`,
          };
    },
  },
  remove_estimate: {
    plans: true,
    step: (about) => ({
      routes: [routeAt(about, "POST", "/reset_time_estimate")],
      changes: { time_estimate: 0 },
      summary: "Removed time estimate.",
    }),
  },
  spend: {
    plans: true,
    hasArgument: true,
    step: (about, argument) => {
      const { type, source, found, caller, now } = about;
      const { duration, day } = spentIn(argument);
      const seconds = parseDuration(duration);
      const isFuture = day !== undefined && Date.parse(day) > now;
      const route = timelogRoutes.get(type.className)?.create;
      if (!seconds || isFuture || !route) return undefined;
      const time_spent = duration;
      const parameters = { id: source.id, [type.parameter]: found.iid, time_spent, spent_at: day };
      return {
        routes: [{ route, parameters }],
        changes: { spend_time: { duration: seconds, user_id: caller.id, spent_at: day } },
        summary: `${seconds < 0 ? "Subtracted" : "Added"} ${humanDuration(Math.abs(seconds))} spent time.`,
      };
    },
  },
  remove_time_spent: {
    plans: true,
    step: (about) => ({
      routes: [routeAt(about, "POST", "/reset_spent_time")],
      changes: { spend_time: { duration: "reset", user_id: about.caller.id } },
      summary: "Removed spent time.",
    }),
  },
  lock: flag("discussion_locked", true, "Locked the discussion.", { plans: true }),
  unlock: flag("discussion_locked", false, "Unlocked the discussion.", { plans: true }),
  confidential: flag("confidential", true, "Made this issue confidential.", { types: ISSUES }),
  todo: {
    step: (about) => ({
      routes: [routeAt(about, "POST", "/todo", {}, "target_iid")],
      changes: { todo_event: "add" },
      summary: `Added a to-do item for this ${about.type.name}.`,
    }),
  },
  done,
  subscribe: subscription("subscribe"),
  unsubscribe: subscription("unsubscribe"),
  award,
  relate: relate(false),
  duplicate: relate(true),
  move,
  draft: setDraft(true),
  ready: setDraft(false),
  target_branch: {
    types: REQUESTS,
    hasArgument: true,
    step: (_, target_branch) => sets({ target_branch }, `Set target branch to ${target_branch}.`),
  },
  merge: {
    types: REQUESTS,
    step: ({ head, ...about }) => ({
      routes: [routeAt(about, "PUT", "/merge", { auto_merge: true, ...(head && { sha: head }) })],
      changes: { merge: true },
      summary: "Merged this merge request, or scheduled to merge it when it is ready.",
    }),
  },
  rebase: {
    types: REQUESTS,
    step: (about) => ({
      routes: [routeAt(about, "PUT", "/rebase")],
      changes: { rebase: true },
      summary: "Rebased the source branch.",
    }),
  },
  approve: approval("approve"),
  unapprove: approval("unapprove"),
};

/** Further names of commands. */
const ALIASES: Readonly<Record<string, string>> = {
  labels: "label",
  remove_label: "unlabel",
  remove_labels: "unlabel",
  in_due_date: "due",
  estimate_time: "estimate",
  remove_time_estimate: "remove_estimate",
  spend_time: "spend",
  spent: "spend",
  react: "award",
  duplicate_of: "duplicate",
  reviewer: "assign_reviewer",
  request_review: "assign_reviewer",
  remove_reviewer: "unassign_reviewer",
};

/** The command with this name, in lower case, for a type; `undefined` if there is none. */
export function definitionOf(type: IssuableType, name: string): Definition | undefined {
  const known = ALIASES[name] ?? name;
  const definition = Object.hasOwn(DEFINITIONS, known) ? DEFINITIONS[known] : undefined;
  return definition?.types && !definition.types.includes(type) ? undefined : definition;
}

/** What a command stands for, or `undefined` if the caller can't perform it so. */
export async function stepOf(
  about: About,
  { name, argument }: { readonly name: string; readonly argument: string },
): Promise<Step | undefined> {
  const definition = definitionOf(about.type, name);
  if (!definition || (definition.plans && !mayPlan(about.source))) return undefined;
  return definition.hasArgument && argument === "" ? undefined : definition.step(about, argument);
}
