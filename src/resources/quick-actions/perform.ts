import { inProject } from "../../core/access/visibility.ts";
import { ApiError, badRequest } from "../../core/errors.ts";
import {
  AfterRoutes,
  type Answer,
  type HandlerResult,
  Json,
  type RouteRunner,
} from "../../core/resource.ts";
import type { Awaitable, Reader } from "../../store/port.ts";
import { EPIC } from "../issuables/epic.ts";
import * as issuables from "../issuables/queries.ts";
import type { DiscussedType, IssuableType, Writing } from "../issuables/type.ts";
import { isIssuable } from "../issuables/types.ts";
import {
  type About,
  definitionOf,
  type RouteCall,
  routeAt,
  type Step,
  stepOf,
} from "./commands.ts";
import { type Command, type Parsed, parse } from "./parse.ts";

/** What became of the commands of a text. */
export interface Outcome {
  /** What was changed, in GitLab's names. */
  readonly changes: Readonly<Record<string, unknown>>;
  /** What people are told of it: a sentence for each command that was performed. */
  readonly summary: readonly string[];
}

/** Whether texts on a record may have commands: on issues and merge requests, not on epics. */
export const takesCommands = (type: DiscussedType): type is IssuableType =>
  isIssuable(type) && type !== EPIC;

/** Cuts the commands for a type out of a text, if there is one. @param most how many */
export function commandsIn<Text extends string | null | undefined>(
  type: IssuableType,
  text: Text,
  most?: number,
): Parsed<Text | string> {
  if (typeof text !== "string" || !takesCommands(type)) return { text, commands: [] };
  return parse(text, (name) => definitionOf(type, name) !== undefined, most);
}

/**
 * Performs commands by the routes that make the same changes, for the same caller. Those that the caller may not perform,
 * or that make no sense, are left out.
 *
 * @param id of the issue or merge request they are about
 */
export async function performCommands(
  runner: RouteRunner,
  context: Pick<Writing, "source" | "caller" | "viewer" | "now">,
  type: IssuableType,
  id: number,
  commands: readonly Command[],
): Promise<Outcome> {
  const { source, viewer } = context;
  const db = runner.reader();
  const [row] = await db.rows(`select iid from ${type.table} where id = ?`, [id]);
  const iid = (row?.[0] ?? 0) as number;
  const found = await issuables.find(db, type, source.id, iid, inProject(viewer, source));
  if (!found?.visible) return { changes: {}, summary: [] };
  const about: About = { ...context, db, type, found, people: new Map(), title: found.title };
  const steps: Step[] = [];
  for (const command of commands) {
    const step = await stepOf(about, command);
    if (step) steps.push(step);
  }
  const change = together(steps);
  const isChanged =
    change !== undefined && (await isDone(runner, routeAt(about, "PUT", "", change)));
  const performed: Step[] = [];
  for (const step of steps) {
    let isPerformed = step.change === undefined || isChanged;
    for (const route of step.routes ?? []) {
      isPerformed &&= await isDone(runner, route);
    }
    if (isPerformed) performed.push(step);
  }
  return {
    changes: Object.assign({}, ...performed.map(({ changes = {} }) => changes)),
    summary: performed.map(({ summary }) => summary),
  };
}

/** Reads an answer once all is done. */
type Read = (db: Reader) => Awaitable<Answer>;

/** What is answered if a text was nothing but commands, for the reference. */
export const COMMANDS_ONLY = {
  202: [{ commands_changes: {}, summary: ["Closed this issue."] }],
} as const;

/**
 * Writes a note on a record, and performs the commands in its text, which are cut out of it. A text of nothing but
 * commands is no note: the answer says what they changed.
 *
 * @param write writes the note with the rest of the text, and returns what reads the answer
 * @throws ApiError 400 if there are only commands, none of which can be performed
 */
export async function writeNote(
  context: Writing,
  { type, id }: { readonly type: DiscussedType; readonly id: number },
  body: string,
  write: (text: string) => Promise<Read>,
): Promise<HandlerResult> {
  if (!takesCommands(type)) return (await write(body))(context.db);
  const { text, commands } = commandsIn(type, body);
  if (commands.length === 0) return (await write(body))(context.db);
  const read = text === "" ? undefined : await write(text);
  return new AfterRoutes(async (runner) => {
    const { changes, summary } = await performCommands(runner, context, type, id, commands);
    if (read) return read(runner.reader());
    if (summary.length === 0) throw badRequest("Failed to apply commands.");
    return new Json({ commands_changes: changes, summary }, 202);
  });
}

/**
 * Performs the commands that were cut out of a description, if there are any, before the answer is read.
 *
 * @param read reads the answer
 */
export function afterCommands(
  context: Parameters<typeof performCommands>[1] & Pick<Writing, "db">,
  type: IssuableType,
  id: number,
  commands: readonly Command[],
  read: Read,
): Awaitable<HandlerResult> {
  if (commands.length === 0) return read(context.db);
  return new AfterRoutes(async (runner) => {
    await performCommands(runner, context, type, id, commands);
    return read(runner.reader());
  });
}

/** Performs a route, and says whether it did what it is for. */
async function isDone(
  { perform }: RouteRunner,
  { route, parameters }: RouteCall,
): Promise<boolean> {
  try {
    await perform(route, parameters);
    return true;
  } catch (error) {
    if (error instanceof ApiError) return false;
    throw error;
  }
}

/** The attributes of all steps that are changed at once, or `undefined` for none. */
function together(steps: readonly Step[]): Record<string, unknown> | undefined {
  const changes = steps.flatMap(({ change }) => (change ? [change] : []));
  if (changes.length === 0) return undefined;
  const changed: Record<string, unknown> = {};
  for (const change of changes) {
    for (const [name, value] of Object.entries(change)) {
      const before = changed[name];
      const adds = ADDING.includes(name) && Array.isArray(before) && Array.isArray(value);
      changed[name] = adds ? [...before, ...value] : value;
    }
  }
  return changed;
}

/** Attributes that add up if several commands set them. */
const ADDING = ["add_labels", "remove_labels"];
