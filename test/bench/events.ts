import { join } from "node:path";
import { createApp } from "../../src/index.ts";
import { insertMany, type PastEvent } from "../../src/resources/events/record.ts";
import * as issues from "../../src/resources/issues/queries.ts";
import { openStore } from "../../src/store/open.ts";
import { CALLER } from "./seed.ts";

/** The folder for files, and a function that receives progress. */
export interface Where {
  folder: string;
  say: (text: string) => void;
}

export const MANY = 1_000_000;
export const FEW = 1_000;
/** The number of the caller's projects, and of projects with other members only. */
export const PROJECTS = 30;
export const OTHERS = 970;
/** A member of all of them. */
export const MEMBER_OF_ALL = { username: "user3", token: "token-of-the-member-of-all" };
const USERS = 10;
const YEAR = 31_557_600_000;

const made = new Map<string, Promise<string>>();

/**
 * Creates a database of events, alternating pushes and closed issues: a tenth of them in one of the caller's projects,
 * the rest spread evenly over all others. Half of them are older than two years. An existing one is reused.
 *
 * @returns the database file
 */
export function withEvents(count: number, { folder, say }: Where): Promise<string> {
  const file = join(folder, `events-${count}.db`);
  const known = made.get(file);
  if (known) return known;
  say(`seeding ${count} events…`);
  const making = make(count, file).then(() => file);
  made.set(file, making);
  return making;
}

const named = (length: number) =>
  Array.from({ length }, (_, index) => ({ path: `project-${index}` }));

async function make(count: number, file: string): Promise<void> {
  const app = await createApp({ database: file, background: false });
  await app.admin.seed({
    users: Array.from({ length: USERS }, (_, index) => ({
      username: `user${index}`,
      tokens: [CALLER, MEMBER_OF_ALL]
        .filter(({ username }) => username === `user${index}`)
        .map(({ token }) => ({ token })),
    })),
    groups: [
      {
        path: "acme",
        members: { [CALLER.username]: "developer", [MEMBER_OF_ALL.username]: "developer" },
        projects: named(PROJECTS),
      },
      {
        path: "others",
        members: { [MEMBER_OF_ALL.username]: "developer" },
        projects: named(OTHERS),
      },
    ],
  });
  await app.close();
  const store = await openStore(file, {});
  const ids = async (sql: string) => (await store.rows(sql)).map(([id]) => id as number);
  const projects = await ids("select id from projects order by id");
  const users = await ids("select id from users where username like 'user%' order by id");
  const now = Date.now();
  const targets = await store.transaction(async (db) => {
    const inserted: { id: number; iid: number }[] = [];
    for (const project_id of projects) {
      const issue = { project_id, author_id: users[0] as number, title: "Something to do" };
      inserted.push(await issues.insert(db, issue, now));
    }
    return inserted;
  });
  const eventAt = (index: number): PastEvent => {
    const place = index % 10 === 0 ? 0 : 1 + (index % (projects.length - 1));
    // The caller is inactive where they are not a member.
    const authors = place < PROJECTS ? users : users.slice(2);
    const event = {
      project_id: projects[place] as number,
      // Shifted every hundred, so that everyone is active everywhere.
      author_id: authors[(index + Math.floor(index / 100)) % authors.length] as number,
      at: Math.round(now - 4 * YEAR * (1 - index / count)),
    };
    const issue = targets[place] as { id: number; iid: number };
    if (Math.floor(index / 10) % 2 === 0) {
      return { ...event, action: "closed", target: { type: "issue", ...issue } };
    }
    return {
      ...event,
      ref: "main",
      ref_type: "branch",
      push_action: "pushed",
      commit_count: 1,
      commit_from: "a".repeat(40),
      commit_to: "b".repeat(40),
      commit_title: "Change something",
    };
  };
  for (let start = 0; start < count; start += 20_000) {
    const length = Math.min(20_000, count - start);
    const batch = Array.from({ length }, (_, index) => eventAt(start + index));
    await store.transaction((db) => insertMany(db, batch));
  }
  await store.close();
}
