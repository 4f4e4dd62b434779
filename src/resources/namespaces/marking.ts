import * as audit from "../../audit/log.ts";
import type { Caller } from "../../core/access/caller.ts";
import type { Context } from "../../core/resource.ts";
import type { Awaitable, Database } from "../../store/port.ts";
import { impossible, madeFree, suffixOf, withoutSuffix } from "./marked.ts";
import { isTaken } from "./queries.ts";

/** What marks a project or a group, or takes its mark back: a person, or the server itself. */
export type Marking = Pick<Context, "now" | "request"> & { db: Database; caller: Caller };

/** A project or a group that can be marked for deletion. */
interface Markable {
  readonly id: number;
  readonly name: string;
  readonly path: string;
  readonly full_path: string;
  readonly marked_for_deletion_at: number | null;
}

/** What a mark changes. */
export type Marked = Pick<Markable, "name" | "path" | "marked_for_deletion_at">;

/**
 * How projects or groups are marked, to be deleted later, and how their marks are taken back.
 *
 * @param isNameTaken whether another one beside it has a name
 * @param change gives it another name, path and mark, with what follows from these
 */
export function markingOf<Row extends Markable>(
  kind: "project" | "group",
  isNameTaken: (db: Database, found: Row, name: string) => Awaitable<boolean>,
  change: (context: Marking, found: Row, changes: Marked) => Promise<void>,
) {
  const log = (
    context: Marking,
    action: "marked for deletion" | "restored",
    id: number,
    target: string,
  ) => audit.log(context, `${kind} ${action}`, { target, place: { kind, id, fullPath: target } });
  return {
    /** Marks it, which is deleted later with everything below it, and frees its name and path. */
    async mark(context: Marking, found: Row): Promise<void> {
      const suffix = suffixOf(found.id);
      await change(context, found, {
        name: `${found.name}${suffix}`,
        path: `${found.path}${suffix}`,
        marked_for_deletion_at: context.now,
      });
      await log(context, "marked for deletion", found.id, found.full_path);
    },

    /**
     * Takes its mark back. It gets its name and path again; if others have taken them, similar ones.
     *
     * @throws ApiError 400 if it has no mark
     */
    async restore(context: Marking, found: Row): Promise<void> {
      if (found.marked_for_deletion_at === null) {
        const what = kind === "project" ? "Project" : "Group";
        throw impossible(`${what} has not been marked for deletion`);
      }
      const { db } = context;
      const name = withoutSuffix(found.name, found.id);
      const path = withoutSuffix(found.path, found.id);
      const full = `${found.full_path.slice(0, -found.path.length)}${path}`;
      const isFree = path === found.path || !(await isTaken(db, full));
      const hasName = name === found.name || !(await isNameTaken(db, found, name));
      await change(context, found, {
        name: hasName ? name : madeFree(name),
        path: isFree ? path : madeFree(path),
        marked_for_deletion_at: null,
      });
      await log(context, "restored", found.id, full);
    },
  };
}
