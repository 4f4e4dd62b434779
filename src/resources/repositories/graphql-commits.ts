import type { Source } from "../../core/access/source.ts";
import { isoInstant } from "../../core/time.ts";
import {
  type Commit,
  readCommit,
  readSignedCommit,
  type Signature,
  type Signed,
  titleOf,
} from "../../git/commits.ts";
import type { Repository } from "../../git/repository.ts";
import { type GraphContext, property, required, valueType } from "../../graphql/declare.ts";
import type { Reader } from "../../store/port.ts";
import { idsByAddresses } from "../users/queries.ts";

/** A commit as it is shown, with the id of the account whose address its author has. */
export interface ShownCommit extends Commit {
  readonly projectId: number;
  readonly webPath: string;
  readonly userId: number | null;
  /** Reads its signature; `undefined` if it has none. */
  readSigned(): Promise<Signed | undefined>;
}

const instant = (read: (commit: ShownCommit) => Signature) =>
  property("Time", (shown: ShownCommit) => isoInstant(read(shown).time * 1000));

/** A commit. */
export const commit = valueType("Commit", "A commit.", {
  id: required(property("ID", ({ id }: ShownCommit) => `gid://gitlab/Commit/${id}`)),
  sha: required(property("String", ({ id }: ShownCommit) => id)),
  shortId: required(property("String", ({ id }: ShownCommit) => id.slice(0, 8))),
  title: property("String", ({ message }: ShownCommit) => titleOf(message)),
  fullTitle: property("String", ({ message }: ShownCommit) => titleOf(message)),
  message: property("String"),
  description: property("String", ({ message }: ShownCommit) =>
    message.trimStart().slice(titleOf(message).length).trim(),
  ),
  author: property("UserCore", ({ userId }: ShownCommit) => userId),
  authorName: property("String", ({ author }: ShownCommit) => author.name),
  authorEmail: property("String", ({ author }: ShownCommit) => author.email),
  authoredDate: instant(({ author }) => author),
  committerName: property("String", ({ committer }: ShownCommit) => committer.name),
  committerEmail: property("String", ({ committer }: ShownCommit) => committer.email),
  committedDate: instant(({ committer }) => committer),
  webUrl: required(
    property("String", ({ webPath }: ShownCommit, { view }: GraphContext) => view.base + webPath),
  ),
  webPath: required(property("String")),
});

/** Reads commits by their numbers, to be shown. */
export async function readCommits(
  db: Reader,
  { repository, project }: { repository: Repository; project: Pick<Source, "id" | "fullPath"> },
  numbers: readonly number[],
): Promise<ShownCommit[]> {
  const commits: Commit[] = [];
  for (const number of numbers) commits.push(await readCommit(repository, number));
  const users = await idsByAddresses(
    db,
    commits.map(({ author }) => author.email),
  );
  return commits.map((read, at) => ({
    ...read,
    projectId: project.id,
    readSigned: () => readSignedCommit(repository, numbers[at] as number),
    webPath: `/${project.fullPath}/-/commit/${read.id}`,
    userId: users.get(read.author.email.toLowerCase()) ?? null,
  }));
}
