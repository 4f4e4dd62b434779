import { randomBytes } from "node:crypto";
import * as audit from "../../audit/log.ts";
import type { Source } from "../../core/access/source.ts";
import { type Page, paginate, type RowPage } from "../../core/pagination.ts";
import { type Presenter, rowReader } from "../../core/presenter.ts";
import type { Awaitable, Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import type { MemberChange } from "../members/changes.ts";
import * as users from "../users/queries.ts";
import { matching, orderOf, type Token, type TokenFilter } from "./queries.ts";

/** Tokens of groups and projects, with the users that stand for them and their memberships. */
const TOKENS = `tokens t join resource_bots rb on rb.user_id = t.user_id
  left join members m on m.user_id = t.user_id
    and (m.project_id = rb.project_id or m.namespace_id = rb.namespace_id)`;

/**
 * Creates the user that stands for an access token of a group or project. Nobody signs in as it, and it creates no groups
 * and projects.
 *
 * @param host the server's name: the user's e-mail address is in it, which gets no mail
 * @returns the user's id
 */
export async function create(
  { db, by, now }: MemberChange,
  { kind, id, column }: Source,
  name: string,
  host: string,
): Promise<number> {
  const username = `${kind}_${id}_bot_${randomBytes(16).toString("hex")}`;
  const email = `${username}@noreply.${host}`;
  const userId = await users.insert(db, { username, name, email }, now);
  await updateRow(db, "users", userId, { projects_limit: 0, can_create_group: 0 }, now);
  await db.run(
    `insert into resource_bots (user_id, ${column}, creator_id)
     values (?, ?, coalesce((select creator_id from resource_bots where user_id = ?), ?))`,
    [userId, id, by.id, by.id],
  );
  await audit.log({ db, by, now }, "user created", { userId });
  return userId;
}

/** The access tokens of a group or project, in the order they were created. */
export function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  { column, id }: Source,
  filter: TokenFilter,
): Promise<RowPage> {
  const where = matching(filter);
  return paginate(db, presenter, page, {
    from: `${TOKENS} where rb.${column} = ? and ${where.sql}`,
    countFrom: `tokens t join resource_bots rb on rb.user_id = t.user_id where rb.${column} = ? and ${where.sql}`,
    values: [id, ...where.values],
    order: orderOf(filter.sort),
  });
}

/** One of these tokens as a row of its presenter. */
export const row = rowReader(`${TOKENS} where t.id = ?`);

/** An access token of a group or project, or `undefined`. */
export function find(
  db: Reader,
  { column, id }: Source,
  tokenId: number,
): Awaitable<Token | undefined> {
  return db.one<Token>(
    `select t.* from tokens t join resource_bots rb on rb.user_id = t.user_id
     where t.id = ? and rb.${column} = ?`,
    [tokenId, id],
  );
}
