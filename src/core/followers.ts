/** Something that follows from what happens to records of a kind. */
export interface Follower<Change, Cause extends string> {
  /** What it is, for docs/jobs.md. */
  readonly does: string;
  /** What it follows from. */
  readonly after: readonly Cause[];
  readonly run: (change: Change) => void | Promise<void>;
}

/** Does what follows from a change, in the order of a table. @param happens whether something is part of the change */
export async function follow<Change, Cause extends string>(
  followers: readonly Follower<Change, Cause>[],
  change: Change,
  happens: (cause: Cause) => boolean,
): Promise<void> {
  for (const { after, run } of followers) {
    if (after.some(happens)) await run(change);
  }
}
