import type { Caller } from "../../core/access/caller.ts";
import { dispositionOf, fileReply, uploadHeaders } from "../../core/http/file-reply.ts";
import * as param from "../../core/input.ts";
import {
  type CodeSource,
  Json,
  type PrepareContext,
  RawReply,
  type Resource,
  routes,
} from "../../core/resource.ts";
import { mayPushSomewhere } from "../protected-refs/abilities.ts";
import { type FileAction, perform } from "../repositories/actions.ts";
import { bodyOf } from "../repositories/blobs.ts";
import {
  type CommitRequest,
  openToCommit,
  type StagedCommit,
  stageCommit,
} from "../repositories/commit.ts";
import { CONTENT_BYTES, contentOf, ENCODINGS, hasChanged } from "../repositories/content.ts";
import { lfsFileOf } from "../repositories/lfs.ts";
import { openRepository, requireCommit } from "../repositories/open.ts";
import { impossible } from "../repositories/rules.ts";
import { applyAll } from "../repositories/write.ts";
import { blamedLines, readRange } from "./blame.ts";
import { findFile, jsonOf } from "./find.ts";

const { del, get, post, put } = routes({
  source: "project",
  path: "/repository/files",
  repository: true,
});

const UNCACHED = "max-age=0, private, must-revalidate, no-store, no-cache";

const path = { file_path: param.text({ max: 4096 }) };
const ref = param.text({ max: 1024 });

const commitInput = {
  ...path,
  branch: param.text({ max: 1024 }),
  commit_message: param.text({ max: param.LONG_TEXT }),
  start_branch: param.unlessBlank(param.text({ max: 1024 })),
  author_name: param.optional(param.anyText()),
  author_email: param.optional(param.anyText()),
  last_commit_id: param.optional(param.anyText()),
};
const contentInput = {
  ...commitInput,
  content: param.anyText({ max: CONTENT_BYTES }),
  encoding: param.optional(param.choice(ENCODINGS)),
  execute_filemode: param.optional(param.boolean()),
};

/** What is told of a file that has changed since its editing began, by what is to be done with it. */
const OUTDATED = {
  create: undefined,
  update: "You are attempting to update a file that has changed since you started editing it.",
  delete: "You are attempting to delete a file that has been previously updated.",
} as const;

/** Stages a commit that changes one file. */
async function stageChange(
  preparing: PrepareContext<Caller | undefined> & { source: CodeSource },
  input: CommitRequest & { last_commit_id?: string | undefined },
  change: FileAction & { action: keyof typeof OUTDATED },
): Promise<StagedCommit> {
  const place = await openToCommit(preparing, input);
  const outdated = OUTDATED[change.action];
  return stageCommit(place, input, async (tree, draft, parent) => {
    const { repository } = place;
    const known = outdated && input.last_commit_id;
    if (await hasChanged(repository, parent, change.path, known)) throw impossible(`${outdated}`);
    await perform(change, tree, draft);
  });
}

/** Scopes that allow reading: what can be fetched can be read. */
const READING = ["api", "read_api", "read_repository"] as const;

const writing = {
  access: "anyone",
  role: "developer",
  orWho: mayPushSomewhere,
  // Nobody may push to an archived project.
  whenArchived: "allow",
  concurrency: "per project",
} as const;
const examples = [{ file_path: "docs/index.md", branch: "main" }];

/** Files of projects' repositories (docs/git.md). */
export const fileResource: Resource = {
  name: "Repository files",
  migrations: [],
  routes: [
    get("/:file_path", {
      summary: "Get a file with its content in Base64; HEAD answers the rest of it as headers",
      access: "anyone",
      scopes: READING,
      input: { ...path, ref },
      examples: [
        {
          file_name: "index.md",
          file_path: "docs/index.md",
          size: 8,
          encoding: "base64",
          content_sha256: "1b4dd3c9a8a1a0f0e6d9b2f0a3c1c6b6c38f6c1d5d0e3b7a3f9f7b1f6f1c2d3e",
          ref: "main",
          blob_id: "79f7bbd25901e8334750839545a9bd021f0e4c83",
          commit_id: "d5a3ff139356ce33e37e73add446f16869741b50",
          last_commit_id: "570e7b2abdd848b95f2f578043fc23bd6f6fd24d",
          execute_filemode: false,
          content: "IyBIZWxsbwo=",
        },
      ],
      prepare: (input, preparing) => openRepository(preparing, [input.ref]),
      handle: async ({ input, request, prepared: opened }) => {
        const file = await findFile(opened, input.ref, input.file_path);
        const headers = { ...file.headers, "content-type": "application/json" };
        if (request.method === "HEAD") return new RawReply(200, headers);
        return new RawReply(200, headers, await jsonOf(opened.repository, file));
      },
    }),
    get("/:file_path/raw", {
      answersWith: "text/plain",
      summary: "Get a file as it is, by default that of the default branch",
      access: "anyone",
      jobTokens: true,
      scopes: READING,
      input: { ...path, ref: param.unlessBlank(ref), lfs: param.optional(param.boolean()) },
      prepare: ({ ref: name = "HEAD" }, preparing) => openRepository(preparing, [name]),
      handle: async ({ db, request, input, prepared: opened }) => {
        const { repository } = opened;
        const file = await findFile(opened, input.ref ?? "HEAD", input.file_path);
        const object = repository.find(file.oid);
        const stored = input.lfs ? await lfsFileOf(opened, object) : undefined;
        if (stored) {
          const headers = { ...uploadHeaders(file.name), "cache-control": UNCACHED };
          return fileReply(db, request, stored, headers);
        }
        const headers = {
          ...file.headers,
          "content-type": "text/plain",
          "content-disposition": dispositionOf("inline", file.name),
          "cache-control": UNCACHED,
          etag: `"${file.facts.blob_id}"`,
        };
        return new RawReply(200, headers, await bodyOf(repository, object));
      },
    }),
    get("/:file_path/blame", {
      summary: "List the lines of a file with the commits that they are from",
      access: "anyone",
      scopes: ["api", "read_api"],
      input: { ...path, ref, range: param.optional(param.json("`start` and `end`, lines from 1")) },
      examples: [
        [
          {
            commit: {
              id: "d5a3ff139356ce33e37e73add446f16869741b50",
              parent_ids: ["570e7b2abdd848b95f2f578043fc23bd6f6fd24d"],
              message: "Add a page",
              authored_date: "2026-11-22T12:00:00.000+00:00",
              author_name: "Ann",
              author_email: "ann@example.com",
              committed_date: "2026-11-22T12:00:00.000+00:00",
              committer_name: "Ann",
              committer_email: "ann@example.com",
            },
            lines: ["# Hello"],
          },
        ],
      ],
      prepare: (input, preparing) => openRepository(preparing, [input.ref]),
      handle: async ({ input, request, prepared: opened }) => {
        const range = readRange(input.range);
        const file = await findFile(opened, input.ref, input.file_path);
        const headers = { ...file.headers, "content-type": "application/json" };
        if (request.method === "HEAD") return new RawReply(200, headers);
        const { repository } = opened;
        const commit = await requireCommit(opened, input.ref);
        const blamed = { path: file.path, object: repository.find(file.oid) };
        const parts = await blamedLines(repository, commit, blamed, range, opened.budget);
        return new RawReply(200, headers, JSON.stringify(parts));
      },
    }),
    post("/:file_path", {
      summary: "Create a file, with a commit",
      ...writing,
      input: contentInput,
      maxBodyBytes: CONTENT_BYTES,
      examples,
      prepare: (input, preparing) =>
        stageChange(preparing, input, {
          action: "create",
          path: input.file_path,
          content: contentOf(input.content, input.encoding),
          isExecutable: input.execute_filemode,
        }),
      handle: async ({ db, input, prepared, now }) => {
        await applyAll(db, prepared.received, now);
        return new Json({ file_path: input.file_path, branch: input.branch });
      },
    }),
    put("/:file_path", {
      summary: "Change a file, with a commit",
      ...writing,
      input: contentInput,
      maxBodyBytes: CONTENT_BYTES,
      examples,
      prepare: (input, preparing) =>
        stageChange(preparing, input, {
          action: "update",
          path: input.file_path,
          content: contentOf(input.content, input.encoding),
          isExecutable: input.execute_filemode,
        }),
      handle: async ({ db, input, prepared, now }) => {
        await applyAll(db, prepared.received, now);
        return new Json({ file_path: input.file_path, branch: input.branch });
      },
    }),
    del("/:file_path", {
      summary: "Delete a file, with a commit",
      ...writing,
      input: commitInput,
      prepare: (input, preparing) =>
        stageChange(preparing, input, { action: "delete", path: input.file_path }),
      handle: async ({ db, prepared, now }) => {
        await applyAll(db, prepared.received, now);
        return undefined;
      },
    }),
  ],
};
