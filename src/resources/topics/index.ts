import { ownAvatar } from "../../core/avatars.ts";
import { badRequest, invalid, notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { paginate } from "../../core/pagination.ts";
import { presenter } from "../../core/presenter.ts";
import { type Resource, routes } from "../../core/resource.ts";
import { all, when } from "../../store/conditions.ts";
import { insertRow } from "../../store/insert.ts";
import { contains } from "../../store/patterns.ts";
import type { Reader, Value } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { AVATAR_PART, avatar } from "../avatars/input.ts";
import * as avatars from "../avatars/queries.ts";
import * as topics from "./queries.ts";
import { migrations } from "./table.ts";

const topic = presenter({
  id: field.integer("tp.id"),
  name: field.text("tp.name"),
  title: field.text("tp.title"),
  description: field.text("tp.description"),
  total_projects_count: field.integer("tc.count"),
  avatar_url: ownAvatar("tp.avatar_url"),
});

const TOPICS = "topic_counts tc join topics tp on tp.id = tc.topic_id";

const id = { topic_id: param.recordId() };
const name = param.text({ max: 255 });
const title = param.text({ max: 255 });
const description = param.clearable(param.anyText({ max: 1024 }));
const picture = { avatar: param.clearable(avatar()) };

async function rowOf(db: Reader, topicId: number): Promise<Value[]> {
  const [found] = await db.rows(`select ${topic.columns} from ${TOPICS} where tp.id = ?`, [
    topicId,
  ]);
  if (!found) throw notFound("Topic");
  return found;
}

/** The name as it is stored. @throws ApiError 400 if another topic has it */
async function freeName(db: Reader, given: string, exceptId = 0): Promise<string> {
  const stored = topics.nameOf(given);
  if (stored === "") throw invalid({ name: ["can't be blank"] });
  const taken = await db.rows("select 1 from topics where lower(name) = lower(?) and id <> ?", [
    stored,
    exceptId,
  ]);
  if (taken.length > 0) throw invalid({ name: ["has already been taken"] });
  return stored;
}

const { del, get, list, post, put } = routes({ path: "/topics" });

/** Topics, by which projects are found. */
export const topicResource: Resource = {
  name: "Project topics",
  migrations,
  routes: [
    list("", {
      summary: "List the topics, those of most public projects first",
      access: "anyone",
      input: {
        search: param.optional(param.anyText()),
        without_projects: param.optional(param.boolean()),
      },
      presenter: topic,
      handle: ({ db, presenter: shown, page, input }) => {
        const { search, without_projects } = input;
        const where = all([
          search ? contains(["tp.name"], search) : undefined,
          without_projects
            ? when("not exists (select 1 from project_topics x where x.topic_id = tp.id)")
            : undefined,
        ]);
        return paginate(db, shown, page, {
          from: `${TOPICS} where ${where.sql}`,
          values: where.values,
          order: "tc.count desc, tc.topic_id",
        });
      },
    }),
    get("/:topic_id", {
      summary: "Get a topic",
      access: "anyone",
      input: id,
      presenter: topic,
      handle: ({ db, input }) => rowOf(db, input.topic_id),
    }),
    post("", {
      summary: "Create a topic",
      access: "admin",
      input: { name, title, description, ...picture },
      upload: AVATAR_PART,
      presenter: topic,
      handle: async ({ db, input, now }) => {
        const created = await insertRow(db, "topics", {
          name: await freeName(db, input.name),
          title: input.title,
          description: input.description ?? null,
          created_at: now,
          updated_at: now,
        });
        await avatars.change(db, { kind: "topic", id: created }, input.avatar, now);
        return rowOf(db, created);
      },
    }),
    put("/:topic_id", {
      summary: "Change a topic, for all projects that have it",
      access: "admin",
      input: {
        ...id,
        name: param.optional(name),
        title: param.optional(title),
        description,
        ...picture,
      },
      upload: AVATAR_PART,
      presenter: topic,
      handle: async ({ db, input, now }) => {
        const { topic_id: topicId, avatar: image, ...changes } = input;
        await rowOf(db, topicId);
        const renamed =
          input.name === undefined ? undefined : await freeName(db, input.name, topicId);
        await updateRow(db, "topics", topicId, { ...changes, name: renamed }, now);
        await avatars.change(db, { kind: "topic", id: topicId }, image, now);
        return rowOf(db, topicId);
      },
    }),
    del("/:topic_id", {
      summary: "Remove a topic, also from its projects",
      access: "admin",
      input: id,
      handle: async ({ db, input, requireUnmodified }) => {
        const found = await db.one<{ updated_at: number }>(
          "select updated_at from topics where id = ?",
          [input.topic_id],
        );
        if (!found) throw notFound("Topic");
        requireUnmodified(found.updated_at);
        await topics.remove(db, input.topic_id);
        return undefined;
      },
    }),
    post("/merge", {
      summary: "Give the projects of a topic another one instead, and remove it",
      access: "admin",
      input: { source_topic_id: param.integer(), target_topic_id: param.integer() },
      presenter: topic,
      handle: async ({ db, input }) => {
        const { source_topic_id: source, target_topic_id: target } = input;
        if (source === target) {
          throw badRequest("The source topic and the target topic are identical.");
        }
        await rowOf(db, source);
        await rowOf(db, target);
        await topics.merge(db, source, target);
        return rowOf(db, target);
      },
    }),
  ],
};
