import * as field from "../../core/field.ts";
import { presenter } from "../../core/presenter.ts";

const truth = (sql: string) => `case when ${sql} then 'true' else 'false' end`;

/**
 * A suggestion `s` as JSON texts, with the place `np` of its note and the merge request `mr`. Whether its lines have changed
 * is known once the positions of notes were followed into the newest version, a moment after a push.
 */
const TEXTS = {
  id: ["cast(s.id as text)", "integer"],
  from_line: ["cast(np.line - s.lines_above as text)", "integer"],
  to_line: ["cast(np.line + s.lines_below as text)", "integer"],
  appliable: [
    truth(
      "s.applied_sha is null and np.outdated = 0 and s.from_content <> s.to_content and mr.state = 'opened'",
    ),
    "boolean",
  ],
  applied: [truth("s.applied_sha is not null"), "boolean"],
  from_content: ["s.from_content", "string"],
  to_content: ["s.to_content", "string"],
} as const;

/** A suggestion of a note. */
export const suggestionFields: field.Fields = Object.fromEntries(
  Object.entries(TEXTS).map(([name, [sql, type]]) => [name, field.json(sql, type)]),
);

/** A suggestion. */
export const suggestion = presenter(suggestionFields);

const members = Object.entries(TEXTS).map(([name, [sql]]) => `'"${name}":' || ${sql}`);

/** The suggestions of a row `nt` of notes with its place `np` and its merge request `mr`, as JSON: an SQL expression. */
export const SUGGESTIONS = `coalesce((select '[' || string_agg('{' || ${members.join(" || ',' || ")} || '}', ',' order by s.place) || ']'
  from suggestions s where s.note_id = nt.id), '[]')`;
