import type { PrepareContext } from "../core/resource.ts";
import { BRANCHES, isHidden, isReserved, listRefs, type Refs } from "../git/refs.ts";
import type { RepositoryRow } from "../git/repository.ts";
import { Shown } from "../git/shown.ts";
import type { Served } from "../git/upload-pack.ts";
import { countFetch } from "../resources/repositories/fetches.ts";
import { findRecord, openRecord } from "../resources/repositories/open.ts";
import { findWiki } from "../resources/wikis/open.ts";
import type { Admitted, Service } from "./access.ts";

/** The path of a project, or of its wiki, by that of the repository. */
export const projectPath = (path: string): string => path.replace(/\.git$/, "");

/** A project's repository, as a request finds it. */
interface Found {
  /** `undefined` if nothing was pushed yet. */
  readonly row: RepositoryRow | undefined;
  readonly refs: Refs;
}

/**
 * Finds a project's repository, or its wiki's, with the references that clients of a service see. It has none if the
 * project does not exist yet.
 */
export async function findRepository(
  { store, now }: PrepareContext,
  { kind, project }: Pick<Admitted, "kind" | "project">,
  service: Service,
): Promise<Found> {
  if (project && kind === "wiki") return findWiki(store, project.id, now);
  if (!project) return { row: undefined, refs: { head: `${BRANCHES}main`, list: [] } };
  const { row, defaultBranch } = await findRecord(store.reader(), project.id);
  const head = BRANCHES + defaultBranch;
  const all = row ? await listRefs(store, row.id) : [];
  const isUnseen = service === "git-upload-pack" ? isHidden : isReserved;
  return { row, refs: { head, list: all.filter(({ name }) => !isUnseen(name)) } };
}

/** Opens the repository that somebody may fetch from. */
export async function openServed(
  preparing: PrepareContext,
  { kind, project }: Admitted,
): Promise<Served> {
  const { store, now } = preparing;
  const { row, refs } = await findRepository(preparing, { kind, project }, "git-upload-pack");
  const repository = await openRecord(store, row);
  const served = {
    repository,
    refs,
    shown: new Shown(store.reader(), repository, row),
    onSending: () => {
      if (kind === "code" && project) countFetch(store, project.id, now);
    },
  };
  return served;
}
