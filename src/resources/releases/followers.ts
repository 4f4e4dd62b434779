import type { Source } from "../../core/access/source.ts";
import { isListenedFor, type Recording, recordHookEvent } from "../../hooks/events.ts";
import * as releases from "./queries.ts";

/** Who changes a release, in which project. */
interface Acting extends Recording {
  readonly source: Pick<Source, "id">;
  readonly caller: { readonly id: number } | null | undefined;
}

/** Tells webhooks of a release, from which nothing else follows: of one that is about to be deleted, all that it was. */
export async function changed(
  acting: Acting,
  id: number,
  action: "create" | "update" | "delete",
): Promise<void> {
  const { db, source, caller } = acting;
  const of = { project: source.id };
  const moment = { kind: "release", of, userId: caller?.id ?? null, id, action } as const;
  if (action !== "delete") recordHookEvent(acting, moment);
  else if (await isListenedFor(db, moment)) {
    recordHookEvent(acting, { ...moment, data: await releases.told(db, id) });
  }
}

/** Deletes the release of a tag, if there is one. */
export async function removeOf(acting: Acting, tag: string): Promise<void> {
  const { db, source } = acting;
  const found = await releases.find(db, source.id, tag);
  if (!found) return;
  await changed(acting, found.id, "delete");
  await releases.remove(db, source.id, tag);
}
