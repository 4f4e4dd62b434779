import type { Condition } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Database, Reader, Value } from "../../store/port.ts";

/** SQL of the names of a project's topics, one per line. @param project SQL of its id */
export const topicsOf = (project: string): string =>
  `(select string_agg(t.name, '\n' order by x.position) from project_topics x
    join topics t on t.id = x.topic_id where x.project_id = ${project})`;

/** The names that {@link topicsOf} found. */
export const namesOf = (found: Value | undefined): string[] =>
  found == null ? [] : String(found).split("\n");

/** A topic's name as it is stored: on one line. */
export const nameOf = (given: string): string => given.replace(/\s+/g, " ").trim();

/** The condition that a project `p` has a topic of this name, ignoring case. */
export const hasTopic = (name: string): Condition => ({
  sql: `p.id in (select x.project_id from project_topics x join topics t on t.id = x.topic_id
    where lower(t.name) = lower(?))`,
  values: [nameOf(name)],
});

/** As both engines fold names: only ASCII letters. */
const folded = (name: string) => name.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

/** Gives a project these topics and no others. Unknown ones are created, with their name as title. */
export async function setTopics(
  db: Database,
  projectId: number,
  given: readonly string[],
  now: number,
): Promise<void> {
  await db.run("delete from project_topics where project_id = ?", [projectId]);
  const names = new Map<string, string>();
  for (const name of given.map(nameOf)) {
    if (name !== "" && !names.has(folded(name))) names.set(folded(name), name);
  }
  if (names.size === 0) return;
  // Sorted, so that no two transactions wait for each other.
  const created = [...names.values()].sort().flatMap((name) => [name, name, now, now]);
  await db.run(
    `insert into topics (name, title, created_at, updated_at)
     values ${tuples(names.size, "(?, ?, ?, ?)")} on conflict do nothing`,
    created,
  );
  const places = [...names.keys()];
  const among = placeholders(places);
  const topics = await db.all<{ id: number; name: string }>(
    `select id, name from topics where lower(name) in (${among.sql}) order by id`,
    among.values,
  );
  await db.run(
    `insert into project_topics (project_id, topic_id, position)
     values ${tuples(topics.length, "(?, ?, ?)")}`,
    topics.flatMap(({ id, name }) => [projectId, id, places.indexOf(folded(name))]),
  );
}

const tuples = (count: number, one: string) => Array.from({ length: count }, () => one).join(", ");

/** The names of a project's topics, in order. */
export async function list(db: Reader, projectId: number): Promise<string[]> {
  const [found] = await db.rows(`select ${topicsOf("p.id")} from projects p where p.id = ?`, [
    projectId,
  ]);
  return namesOf(found?.[0]);
}

/** Gives the projects of one topic another, and removes the first. */
export async function merge(db: Database, sourceId: number, targetId: number): Promise<void> {
  await db.run(
    `insert into project_topics (project_id, topic_id, position)
     select project_id, ?, position from project_topics where topic_id = ? on conflict do nothing`,
    [targetId, sourceId],
  );
  await remove(db, sourceId);
}

/** Removes a topic, also from its projects. */
export async function remove(db: Database, topicId: number): Promise<void> {
  await db.run("delete from project_topics where topic_id = ?", [topicId]);
  await db.run("delete from topics where id = ?", [topicId]);
}
