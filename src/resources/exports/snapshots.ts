import { notFound } from "../../core/errors.ts";
import { dispositionOf } from "../../core/http/file-reply.ts";
import { cancellable } from "../../core/http/streamed.ts";
import * as param from "../../core/input.ts";
import { RawReply, routes } from "../../core/resource.ts";
import { bareFiles } from "../../git/clone.ts";
import { BRANCHES, listRefs } from "../../git/refs.ts";
import { tarOfFiles } from "../../git/tar.ts";
import type { Store } from "../../store/port.ts";
import { findRecord, openRecord } from "../repositories/open.ts";
import { findWiki } from "../wikis/open.ts";

/** Without these two, Git takes a folder for no repository. */
const FOLDERS = ["refs/", "objects/"];

async function findCode(store: Store, projectId: number) {
  const { row, defaultBranch } = await findRecord(store.reader(), projectId);
  const list = row ? await listRefs(store.reader(), row.id) : [];
  return { row, refs: { head: BRANCHES + defaultBranch, list } };
}

/** The repository of a project as it is, for administrators. */
export const snapshotRoute = routes({ source: "project" }).get("/snapshot", {
  answersWith: "application/x-tar",
  summary: "Download the bare repository of a project, or of its wiki, as a tar archive",
  access: "admin",
  input: { wiki: param.optional(param.boolean()) },
  prepare: async ({ wiki }, { store, source, now }) => {
    const db = store.reader();
    const found = wiki ? await findWiki(store, source.id, now) : await findCode(store, source.id);
    const { row, refs } = found;
    if (!row) return undefined;
    const repository = await openRecord(store, row);
    // Somebody may have pushed in between.
    const list = refs.list.filter(({ oid }) => repository.findHex(oid) >= 0);
    const [project] = await db.rows("select created_at from projects where id = ?", [source.id]);
    // The same repository is the same archive, whenever it is asked for.
    const time = Math.floor(Number(project?.[0]) / 1000);
    return { repository, refs: { ...refs, list }, time };
  },
  handle: ({ prepared }) => {
    if (!prepared) throw notFound();
    const { repository, refs, time } = prepared;
    return new RawReply(
      200,
      {
        "content-type": "application/x-tar",
        "content-disposition": dispositionOf("attachment", "snapshot.tar"),
      },
      cancellable((signal) => tarOfFiles(FOLDERS, bareFiles(repository, refs, signal), time)),
    );
  },
});
