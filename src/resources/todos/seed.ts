import * as v from "valibot";
import { seedPart } from "../../core/seeding.ts";
import type { SeededIssuable } from "../issuables/seed.ts";
import * as todos from "../issuables/todos.ts";

/** User names of people with a todo for an issue or merge request, which is done if it is no longer open. */
export const todosPart = seedPart({
  schema: v.optional(v.array(v.string()), []),
  counted: "todos",
  async insert(seeding, usernames, issuable: SeededIssuable) {
    const { db } = seeding;
    const { kind, id, project, author, assignees, createdAt, endedAt } = issuable;
    const about = { projectId: project.id, id, noteId: null };
    for (const username of usernames) {
      const userId = seeding.userId(username);
      const isAssigned = assignees.includes(username);
      const authorId = isAssigned ? seeding.userId(author) : userId;
      const action = isAssigned ? "assigned" : "marked";
      await todos.add(db, kind, about, [userId], action, authorId, createdAt);
      if (endedAt !== undefined) todos.resolve(db, kind, id, userId, endedAt);
    }
    return usernames.length;
  },
});
