import { createHash } from "node:crypto";
import { notFound } from "../../src/core/errors.ts";
import * as field from "../../src/core/field.ts";
import { fileReply, uploadHeaders } from "../../src/core/http/file-reply.ts";
import { file } from "../../src/core/http/upload.ts";
import * as param from "../../src/core/input.ts";
import { paginate } from "../../src/core/pagination.ts";
import { presenter } from "../../src/core/presenter.ts";
import {
  type Context,
  RawReply,
  type Resource,
  routes,
  type SourceKind,
} from "../../src/core/resource.ts";
import { owning } from "../../src/files/table.ts";
import type { StoredFile } from "../../src/files/write.ts";
import { insertRow } from "../../src/store/insert.ts";
import type { Migration } from "../../src/store/migrate.ts";
import type { Database, Reader } from "../../src/store/port.ts";
import { updateRow } from "../../src/store/update.ts";

// A resource below groups and projects, to show that a new one needs nothing but its own folder.

const migrations: Migration[] = [
  {
    id: "20261199-99-toy-topics",
    sql: `
create table toy_topics (
  id $id,
  namespace_id $int references namespaces (id) on delete cascade,
  project_id $int references projects (id) on delete cascade,
  name $text not null,
  description $text,
  picture $bytes,
  file_id $int references stored_files (id),
  updated_at $int not null,
  check ((namespace_id is null) <> (project_id is null))
);
create index toy_topics_of_namespace on toy_topics (namespace_id, id);
create index toy_topics_of_project on toy_topics (project_id, id);
${owning("toy_topics", "file_id")}`,
  },
];

const topic = presenter({
  id: field.integer("t.id"),
  name: field.text("t.name"),
  description: field.text("t.description"),
});

type In<Db extends Reader> = Pick<Context, "source"> & { db: Db; input: { topic_id: number } };

async function find({ db, source, input }: In<Reader>) {
  const found = await db.one<{ id: number; updated_at: number }>(
    `select t.id, t.updated_at from toy_topics t where t.${source.column} = ? and t.id = ?`,
    [source.id, input.topic_id],
  );
  if (!found) throw notFound();
  return found;
}

async function shown({ db, presenter }: Pick<Context, "presenter"> & { db: Reader }, id: number) {
  const sql = `select ${presenter.columns} from toy_topics t where t.id = ?`;
  return (await db.rows(sql, [id]))[0];
}

async function setPicture(context: In<Database> & Pick<Context, "now">, picture: Uint8Array) {
  const { id } = await find(context);
  await updateRow(context.db, "toy_topics", id, { picture }, context.now);
  return undefined;
}

async function setFile(context: In<Database> & Pick<Context, "now">, { id: file_id }: StoredFile) {
  const { id } = await find(context);
  await updateRow(context.db, "toy_topics", id, { file_id }, context.now);
  return undefined;
}

function routesOf(source: SourceKind) {
  const { get, list, query, post, put, patch, del } = routes({ source, path: "/topics" });
  const role = "developer";
  const topic_id = param.recordId();
  return [
    list("", {
      summary: `List the topics of a ${source}`,
      access: "anyone",
      presenter: topic,
      handle: ({ db, source, presenter, page }) =>
        paginate(db, presenter, page, {
          from: `toy_topics t where t.${source.column} = ?`,
          values: [source.id],
          order: "t.id",
        }),
    }),
    query("/search", {
      summary: `Search the topics of a ${source}`,
      role: "guest",
      input: { name: param.anyText() },
      presenter: topic,
      handle: ({ db, source, presenter, page, input }) =>
        paginate(db, presenter, page, {
          from: `toy_topics t where t.${source.column} = ? and t.name = ?`,
          values: [source.id, input.name],
          order: "t.id",
        }),
    }),
    get("/:topic_id", {
      summary: "Get a topic",
      access: "anyone",
      input: { topic_id },
      presenter: topic,
      handle: async (context) => shown(context, (await find(context)).id),
    }),
    post("", {
      summary: `Add a topic to a ${source}`,
      role,
      input: { name: param.text(), description: param.optional(param.text()) },
      presenter: topic,
      handle: async (context) => {
        const { db, source, input, now } = context;
        const { name, description = null } = input;
        const row = { [source.column]: source.id, name, description, updated_at: now };
        return shown(context, await insertRow(db, "toy_topics", row));
      },
    }),
    patch("/:topic_id", {
      summary: "Change some of a topic",
      role,
      input: {
        topic_id,
        name: param.optional(param.text()),
        description: param.clearable(param.text()),
      },
      presenter: topic,
      handle: async (context) => {
        const { db, input, now } = context;
        const { id } = await find(context);
        const { name, description } = input;
        await updateRow(db, "toy_topics", id, { name, description }, now);
        return shown(context, id);
      },
    }),
    del("/:topic_id", {
      summary: "Remove a topic",
      role,
      input: { topic_id },
      handle: async (context) => {
        const { id, updated_at } = await find(context);
        context.requireUnmodified(updated_at);
        await context.db.run("delete from toy_topics where id = ?", [id]);
        return undefined;
      },
    }),
    get("/:topic_id/picture", {
      summary: "Get the picture of a topic",
      access: "anyone",
      input: { topic_id },
      handle: async (context) => {
        const { id } = await find(context);
        const [row] = await context.db.rows("select picture from toy_topics where id = ?", [id]);
        const picture = row?.[0];
        if (!(picture instanceof Uint8Array)) throw notFound("Picture");
        return new RawReply(200, { "content-type": "application/octet-stream" }, picture);
      },
    }),
    put("/:topic_id/picture", {
      summary: "Set the picture of a topic",
      role,
      input: { topic_id },
      body: "bytes",
      handle: (context) => setPicture(context, context.body),
    }),
    put("/:topic_id/file", {
      summary: "Set the file of a topic",
      role,
      input: { topic_id },
      body: "file",
      maxBodyBytes: 300_000_000,
      handle: (context) => setFile(context, context.body),
    }),
    put("/:topic_id/attachment", {
      summary: "Set the file of a topic (multipart/form-data)",
      role,
      input: { topic_id, file: file() },
      upload: {
        part: "file",
        maxBytes: 20_000_000,
        admit: ({ parameters }) => {
          if (parameters["topic_id"] === "999") throw notFound("Topic");
          return undefined;
        },
      },
      handle: (context) => setFile(context, context.input.file),
    }),
    get("/:topic_id/file", {
      summary: "Get the file of a topic",
      access: "anyone",
      input: { topic_id },
      handle: async (context) => {
        const { id } = await find(context);
        const file = await context.db.one<StoredFile>(
          "select f.id, f.size, f.sha256 from toy_topics t join stored_files f on f.id = t.file_id where t.id = ?",
          [id],
        );
        if (!file) throw notFound("File");
        return fileReply(context.db, context.request, file, uploadHeaders("a b.txt"));
      },
    }),
    put("/:topic_id/digest", {
      summary: "Set the picture of a topic to the digest of a stream",
      role,
      input: { topic_id },
      body: "stream",
      maxBodyBytes: 5_000_000,
      prepare: async (_, { body }) => {
        const hash = createHash("sha256");
        for await (const chunk of body) hash.update(chunk);
        return hash.digest();
      },
      handle: (context) => setPicture(context, context.prepared),
    }),
  ];
}

/** Topics of groups and projects. */
export const topicResource: Resource = {
  name: "Topics",
  migrations,
  routes: [...routesOf("group"), ...routesOf("project")],
};
