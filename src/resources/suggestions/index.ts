import * as param from "../../core/input.ts";
import { Json, type Resource, routes } from "../../core/resource.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader, Value } from "../../store/port.ts";
import { suggestion } from "../suggested-lines/json.ts";
import { migrations } from "../suggested-lines/table.ts";
import { applySuggestions, type StagedSuggestions, stageSuggestions } from "./apply.ts";

/** The most suggestions that one commit applies. */
const MOST = 100;

const { put } = routes({ path: "/suggestions" });

const message = { commit_message: param.unlessBlank(param.text({ max: param.LONG_TEXT })) };

const EXAMPLE = {
  ...{ id: 4, from_line: 10, to_line: 10, appliable: false, applied: true },
  ...{ from_content: "This is an exmaple\n", to_content: "This is an example\n" },
};

async function rowsOf(db: Reader, { found }: StagedSuggestions): Promise<Value[][]> {
  const among = placeholders(found.map(({ id }) => id));
  return db.rows(
    `select ${suggestion.columns} from suggestions s join notes nt on nt.id = s.note_id
     join note_positions np on np.note_id = nt.id join merge_requests mr on mr.id = nt.merge_request_id
     where s.id in (${among.sql}) order by s.id`,
    among.values,
  );
}

/** What notes on lines suggest instead of them, applied by a commit. */
export const suggestionResource: Resource = {
  name: "Suggestions",
  migrations,
  routes: [
    put("/:suggestion_id/apply", {
      presenter: suggestion,
      summary: "Apply a suggestion to the source branch of its merge request, by a commit",
      input: { suggestion_id: param.recordId(), ...message },
      prepare: ({ suggestion_id, commit_message: message }, preparing) =>
        stageSuggestions(preparing, {
          ids: [suggestion_id],
          message,
          unknown: "Suggestion is not applicable as the suggestion was not found.",
        }),
      handle: async (context) => {
        await applySuggestions(context, context.prepared);
        return (await rowsOf(context.db, context.prepared))[0] as Value[];
      },
    }),
    put("/batch_apply", {
      examples: [[EXAMPLE]],
      summary: "Apply suggestions for one branch to it, all by one commit or none",
      input: {
        ids: param.arrayOf(param.integer({ min: 1 }), { max: MOST }),
        ...message,
      },
      prepare: ({ ids, commit_message: message }, preparing) =>
        stageSuggestions(preparing, {
          ids,
          message,
          unknown: "Suggestions are not applicable as one or more suggestions were not found.",
        }),
      handle: async (context) => {
        await applySuggestions(context, context.prepared);
        const rows = await rowsOf(context.db, context.prepared);
        return new Json(rows.map((row) => JSON.parse(suggestion.write(row, context.view))));
      },
    }),
  ],
};
