import { readFile } from "../../files/read.ts";
import type { StoredFile } from "../../files/write.ts";
import type { Replacement } from "../../git/members.ts";
import { pointerIn } from "../../git/pointers.ts";
import { findObject, hasObjects } from "../lfs/objects.ts";
import type { OpenRepository } from "./open.ts";

/** The object of Git LFS that a blob stands for, if its project has that. */
export async function lfsFileOf(
  { repository, store, project }: Pick<OpenRepository, "repository" | "store" | "project">,
  object: number,
): Promise<StoredFile | undefined> {
  const pointer = await pointerIn(repository, object);
  return pointer && findObject(store.reader(), project.id, pointer.oid);
}

/** What is in an archive instead of pointers; `undefined` if the project has no objects. */
export async function replacementsIn(
  opened: OpenRepository,
): Promise<((object: number) => Promise<Replacement | undefined>) | undefined> {
  const db = opened.store.reader();
  if (!(await hasObjects(db, opened.project.id))) return undefined;
  return async (object) => {
    const file = await lfsFileOf(opened, object);
    return file && { size: file.size, chunks: () => readFile(db, file) };
  };
}
