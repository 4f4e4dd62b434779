const MEBIBYTE = 1024 * 1024;

/** What a push may use (docs/git.md). */
export const LIMITS = {
  /** Bytes of a pack. */
  packBytes: 2048 * MEBIBYTE,
  /** Objects in a pack. */
  objects: 5_000_000,
  /** Bytes of an object. */
  objectBytes: 100 * MEBIBYTE,
  /** Bytes of all objects of a pack, for each of its bytes, besides {@link LIMITS.expanded}. */
  expansion: 250,
  expanded: 1024 * MEBIBYTE,
  /** How often all objects may be unpacked again on average, as bases of others. */
  rework: 10,
  /** Deltas between an object and its base. */
  chain: 4096,
  /** Parents of a commit. */
  parents: 250,
  /** References changed by one push. */
  commands: 10_000,
  /** Bytes of a reference's name, and parts of it between slashes. */
  refName: 1024,
  refDepth: 64,
} as const;
