import { badRequest, notFound } from "../core/errors.ts";
import { dispositionOf, fileReply, sourceHeaders } from "../core/http/file-reply.ts";
import { cancellable } from "../core/http/streamed.ts";
import * as param from "../core/input.ts";
import { RawReply, type Route, routes } from "../core/resource.ts";
import { formatPatches } from "../git/format-patch.ts";
import { isBinary } from "../git/lines.ts";
import { logOf } from "../git/log.ts";
import { rawDiff } from "../git/raw-diff.ts";
import type { Repository } from "../git/repository.ts";
import { findFile } from "../resources/files/find.ts";
import { openCode } from "../resources/merge-requests/code.ts";
import { logQueryOf } from "../resources/merge-requests/versions.ts";
import { archiveOf, endingOf } from "../resources/repositories/archives.ts";
import { bodyOf } from "../resources/repositories/blobs.ts";
import { changesOf } from "../resources/repositories/diffs.ts";
import { lfsFileOf } from "../resources/repositories/lfs.ts";
import { openRepository, requireCommit } from "../resources/repositories/open.ts";
import { openRevision } from "./revision.ts";

/** Commits of a merge request that are sent as patches at most. */
const MOST_PATCHES = 1000;

/** Browsers show it as text, whatever it is. */
const TEXT = {
  "content-type": "text/plain; charset=utf-8",
  "content-disposition": "inline",
  "content-security-policy": "default-src 'none'; sandbox",
};

const code = routes({ source: "project", isAddress: true, repository: true });
const requests = routes({
  source: "project",
  isAddress: true,
  path: "/-/merge_requests",
  features: ["merge_requests"],
});

const SCOPES = ["api", "read_api", "read_repository"] as const;
const reading = { access: "anyone", scopes: SCOPES } as const;

/** What follows a word of an address: the name of a commit, and more. */
const place = { place: param.anyText({ max: 4096 }) };
const sha = { sha: param.anyText({ max: 1024 }) };

/** The address of files without `/-/` is GitLab's old one. */
const rawAddresses = (["/-/raw/:place*", "/raw/:place*"] as const).map((path) =>
  code.get(path, {
    answersWith: "application/octet-stream",
    summary: "Get a file of a branch, tag or commit as it is",
    ...reading,
    input: { ...place, inline: param.optional(param.boolean()) },
    prepare: (input, preparing) => openRevision(preparing, input.place),
    handle: async ({ db, request, input, prepared: { opened, ref, rest } }) => {
      const file = await findFile(opened, ref, rest);
      const { repository } = opened;
      const object = repository.find(file.oid);
      const attached = input.inline === false && {
        "content-disposition": dispositionOf("attachment", file.name),
      };
      const stored = await lfsFileOf(opened, object);
      if (stored) {
        return fileReply(db, request, stored, { ...sourceHeaders(file.name, false), ...attached });
      }
      return new RawReply(
        200,
        {
          ...sourceHeaders(file.name, !isBinary(await startOf(repository, object))),
          ...attached,
          etag: `"${file.facts.blob_id}"`,
        },
        await bodyOf(repository, object),
      );
    },
  }),
);

/** The first bytes of a blob. */
async function startOf(repository: Repository, object: number): Promise<Buffer> {
  for await (const part of repository.stream(object)) return part;
  return Buffer.alloc(0);
}

/** Addresses of what a project's repository has. */
export const codeAddresses: readonly Route[] = [
  ...rawAddresses,
  code.get("/-/archive/:place*", {
    answersWith: "application/octet-stream",
    summary: "Get the files of a branch, tag or commit, as an archive: tar, tar.gz or zip",
    ...reading,
    input: { ...place, path: param.optional(param.anyText({ max: 4096 })) },
    prepare: (input, preparing) => {
      const ending = endingOf(input.place);
      if (ending === undefined) throw notFound("File");
      return openRevision(preparing, input.place.slice(0, -ending.length - 1));
    },
    handle: ({ source, input, prepared: { opened, ref, rest } }) => {
      const ownName = `${source.fullPath.split("/").at(-1)}-${ref.replaceAll("/", "-")}`;
      const sought = { sha: ref, path: input.path };
      return archiveOf(opened, endingOf(input.place) as string, sought, rest !== ownName);
    },
  }),
  code.get("/-/commit/:sha.diff", {
    answersWith: "text/plain",
    summary: "Get what a commit changed as text, as `git diff` writes it",
    ...reading,
    input: sha,
    prepare: (input, preparing) => openRepository(preparing, [input.sha]),
    handle: async ({ input, budget, prepared: opened }) => {
      const { repository } = opened;
      const commit = await requireCommit(opened, input.sha);
      const changes = await changesOf(repository, commit, budget);
      return new RawReply(
        200,
        TEXT,
        cancellable((signal) => rawDiff(repository, changes, signal)),
      );
    },
  }),
  code.get("/-/commit/:sha.patch", {
    answersWith: "text/plain",
    summary: "Get a commit as a mail that `git am` reads",
    ...reading,
    input: sha,
    prepare: (input, preparing) => openRepository(preparing, [input.sha]),
    handle: async ({ input, prepared: opened }) => {
      const { repository } = opened;
      const commit = await requireCommit(opened, input.sha);
      return new RawReply(
        200,
        TEXT,
        cancellable((signal) => formatPatches(repository, [commit], signal)),
      );
    },
  }),
  requests.get("/:merge_request_iid.patch", {
    answersWith: "text/plain",
    summary: "Get the commits of a merge request as mails that `git am` reads",
    access: "anyone",
    input: { merge_request_iid: param.recordId() },
    prepare: ({ merge_request_iid: iid }, preparing) => openCode(preparing, iid),
    handle: async ({ prepared: { opened, version } }) => {
      const { repository } = opened;
      if (!version) return new RawReply(200, TEXT, "");
      const log = logOf(repository, logQueryOf(repository, version));
      const commits = await log.first(repository, MOST_PATCHES + 1, opened.budget);
      if (commits.length > MOST_PATCHES) {
        throw badRequest(`A merge request of more than ${MOST_PATCHES} commits has no patches`);
      }
      return new RawReply(
        200,
        TEXT,
        cancellable((signal) => formatPatches(repository, [...commits].reverse(), signal)),
      );
    },
  }),
];
