import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { withoutEffect } from "../../core/kept.ts";
import { presenter } from "../../core/presenter.ts";
import { type Resource, routes } from "../../core/resource.ts";
import type { Reader, Value } from "../../store/port.ts";
import { migrations } from "./table.ts";

const preferences = presenter({
  id: field.integer("u.id"),
  user_id: field.integer("u.id"),
  view_diffs_file_by_file: field.flag("coalesce(pre.view_diffs_file_by_file, 0)"),
  show_whitespace_in_diffs: field.flag("coalesce(pre.show_whitespace_in_diffs, 1)"),
  pass_user_identities_to_ci_jwt: field.flag("coalesce(pre.pass_user_identities_to_ci_jwt, 0)"),
});

const flag = withoutEffect(param.optional(param.boolean()));
const attributes = {
  view_diffs_file_by_file: flag,
  show_whitespace_in_diffs: flag,
  pass_user_identities_to_ci_jwt: flag,
};
const NAMES = [
  "view_diffs_file_by_file",
  "show_whitespace_in_diffs",
  "pass_user_identities_to_ci_jwt",
] as const;

async function rowOf(db: Reader, columns: string, userId: number): Promise<Value[]> {
  const [row] = await db.rows(
    `select ${columns} from users u left join user_preferences pre on pre.user_id = u.id where u.id = ?`,
    [userId],
  );
  return row as Value[];
}

const { get, put } = routes({ path: "/user/preferences" });

/** How users want to see things: kept for clients that ask for it. */
export const userPreferenceResource: Resource = {
  name: "User preferences",
  migrations,
  routes: [
    get("", {
      summary: "Get the caller's preferences",
      presenter: preferences,
      handle: ({ db, caller, presenter }) => rowOf(db, presenter.columns, caller.id),
    }),
    put("", {
      summary: "Change the caller's preferences",
      input: attributes,
      atLeastOne: [...NAMES],
      presenter: preferences,
      handle: async ({ db, caller, input, presenter }) => {
        await db.run(
          "insert into user_preferences (user_id) values (?) on conflict (user_id) do nothing",
          [caller.id],
        );
        for (const name of NAMES) {
          const sent = input[name];
          if (sent === undefined) continue;
          await db.run(`update user_preferences set ${name} = ? where user_id = ?`, [
            Number(sent),
            caller.id,
          ]);
        }
        return rowOf(db, presenter.columns, caller.id);
      },
    }),
  ],
};
