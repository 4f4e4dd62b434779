import { ownAvatar } from "../../../core/avatars.ts";
import * as field from "../../../core/field.ts";
import { type Presenter, presenter } from "../../../core/presenter.ts";
import type { Value } from "../../../store/port.ts";
import { userFields } from "../../users/json.ts";
import type { Making, ToldHookEvent } from "./making.ts";

/** A part of a payload, as `JSON.parse` would return it. */
export type Block = Readonly<Record<string, unknown>>;

/** The rows of a query as a presenter's objects. */
export async function blocksOf(
  { store, view }: Making,
  shown: Presenter,
  from: string,
  values: readonly Value[],
): Promise<Block[]> {
  const rows = await store.rows(`select ${shown.columns} from ${from}`, values);
  return rows.map((row) => shown.value(row, view) as Block);
}

/** The first row of a query as a presenter's object, or `undefined`. */
export async function blockOf(
  making: Making,
  shown: Presenter,
  from: string,
  values: readonly Value[],
): Promise<Block | undefined> {
  return (await blocksOf(making, shown, from, values))[0];
}

const { id, name, username, avatar_url } = userFields("u");

/** A user. Their address is only shown if it is public. */
const user = presenter({
  id,
  name,
  username,
  avatar_url,
  email: field.text("coalesce(nullif(u.public_email, ''), '[REDACTED]')"),
});

/** Users by their ids, as payloads show them, in that order; those that are gone are left out. */
export async function usersOf(making: Making, ids: readonly unknown[]): Promise<Block[]> {
  const found: Block[] = [];
  for (const userId of ids) {
    const block = await blockOf(making, user, "users u where u.id = ?", [userId as number]);
    if (block) found.push(block);
  }
  return found;
}

/** A presenter's object from the row that a moment was recorded with, if it was: of what was deleted since. */
export function fromRow(
  { view }: Making,
  shown: Presenter,
  data: ToldHookEvent["data"],
): Block | undefined {
  const row = data["row"] as Value[] | undefined;
  return row && (shown.value(row, view) as Block);
}

/** Users as payloads show them, by their ids, in which others may repeat or be null. */
export async function usersById(
  making: Making,
  ids: readonly unknown[],
): Promise<ReadonlyMap<unknown, Block>> {
  const known = [...new Set(ids)].filter((one) => one !== null);
  return new Map((await usersOf(making, known)).map((block) => [block["id"], block]));
}

/** A user as payloads show them; null for nobody. */
export async function userOf(making: Making, userId: number | null): Promise<Block | null> {
  return userId === null ? null : ((await usersOf(making, [userId]))[0] ?? null);
}

const sshUrl = field.derived(["p.full_path"], "string", ([path], { sshUrl }) =>
  sshUrl(String(path)),
);
const httpUrl = field.url("p.full_path", (path) => `/${path}.git`);
const webUrl = field.url("p.full_path", (path) => `/${path}`);

const project = presenter({
  id: field.integer("p.id"),
  name: field.text("p.name"),
  description: field.text("p.description"),
  web_url: webUrl,
  avatar_url: ownAvatar("p.avatar_url"),
  git_ssh_url: sshUrl,
  git_http_url: httpUrl,
  namespace: field.text("n.name"),
  visibility_level: field.integer("p.visibility"),
  path_with_namespace: field.text("p.full_path"),
  default_branch: field.text("p.default_branch"),
  ci_config_path: field.constant(null),
  homepage: webUrl,
  url: sshUrl,
  ssh_url: sshUrl,
  http_url: httpUrl,
});

/** A project, as payloads show it. */
export function projectOf(making: Making, projectId: number): Promise<Block | undefined> {
  const from = "projects p join namespaces n on n.id = p.namespace_id where p.id = ?";
  return blockOf(making, project, from, [projectId]);
}

/** The part `repository` of a payload. */
export function repositoryOf({ name: called, url, description, homepage }: Block): Block {
  return { name: called, url, description, homepage };
}

const label = presenter({
  id: field.integer("l.id"),
  title: field.text("l.name"),
  color: field.text("l.color"),
  project_id: field.integer("l.project_id"),
  created_at: field.instant("l.created_at"),
  updated_at: field.instant("l.updated_at"),
  template: field.constant(false),
  description: field.text("l.description"),
  type: field.text("case when l.project_id is null then 'GroupLabel' else 'ProjectLabel' end"),
  group_id: field.integer("l.namespace_id"),
});

/** Labels by their ids, as payloads show them; those that are gone are left out. */
export async function labelsOf(making: Making, ids: readonly unknown[]): Promise<Block[]> {
  const found: Block[] = [];
  for (const labelId of ids) {
    const block = await blockOf(making, label, "labels l where l.id = ?", [labelId as number]);
    if (block) found.push(block);
  }
  return found;
}
