import { Budget } from "../turns/budget.ts";
import type { Signature } from "./commits.ts";
import type { NewObjects } from "./contents.ts";
import { COMMIT, type GitObject, oidOf, TAG } from "./objects.ts";
import type { Packs } from "./packs.ts";
import { checkChanges, type Push, type RefChange } from "./push.ts";
import { receiveObjects } from "./receive.ts";
import type { Repository } from "./repository.ts";

/** A commit to be written. */
export interface NewCommit {
  readonly tree: string;
  readonly parents: readonly string[];
  readonly author: Signature;
  readonly committer: Signature;
  readonly message: string;
}

/** An annotated tag of a commit, to be written. */
export interface NewTag {
  readonly commit: string;
  /** Without `refs/tags/`. */
  readonly name: string;
  readonly tagger: Signature;
  readonly message: string;
}

/** New objects of a repository, in memory. They get their names at once, and are stored when they are pushed. */
export class Draft implements NewObjects {
  readonly repository: Repository;
  readonly budget: Budget;
  readonly #objects = new Map<string, GitObject>();
  #bytes = 0;

  /** @param budget of the work with them; by default nobody waits for it */
  constructor(repository: Repository, budget = new Budget()) {
    this.repository = repository;
    this.budget = budget;
  }

  /** Adds an object, unless the repository has it, and returns its name in hex. */
  add(type: number, data: Buffer): string {
    const oid = oidOf(type, data).toString("hex");
    if (this.repository.findHex(oid) < 0 && !this.#objects.has(oid)) {
      this.#objects.set(oid, { type, data });
      this.#bytes += data.length;
    }
    return oid;
  }

  /** The bytes of the objects that were added. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Adds a commit. Clients refuse signatures with other characters than {@link signatureOf} leaves. */
  addCommit({ tree, parents, author, committer, message }: NewCommit): string {
    const lines = [
      `tree ${tree}`,
      ...parents.map((parent) => `parent ${parent}`),
      `author ${signatureOf(author)}`,
      `committer ${signatureOf(committer)}`,
    ];
    return this.add(COMMIT, Buffer.from(`${lines.join("\n")}\n\n${message}`));
  }

  /** Adds an annotated tag. */
  addTag({ commit, name, tagger, message }: NewTag): string {
    const lines = [
      `object ${commit}`,
      "type commit",
      `tag ${name}`,
      `tagger ${signatureOf(tagger)}`,
    ];
    return this.add(TAG, Buffer.from(`${lines.join("\n")}\n\n${message}`));
  }

  sizeOf(oid: string): number {
    return (
      this.#objects.get(oid)?.data.length ?? this.repository.sizeOf(this.repository.findHex(oid))
    );
  }

  /** Reads an object of the repository, or one that was added. @throws Error if there is none with this name */
  async read(oid: string): Promise<GitObject> {
    const added = this.#objects.get(oid);
    if (added) return added;
    const object = this.repository.findHex(oid);
    if (object < 0) throw new Error(`the object ${oid} is missing`);
    return this.repository.read(object);
  }

  /**
   * Stages the objects as a pack, like those that clients push: they are checked, and nobody sees them yet.
   *
   * @param changes what is done with them
   * @param version of the repository's record; 0 if it has none yet
   * @param now epoch milliseconds
   * @throws RefusedError if an object is not valid
   */
  async push(
    changes: readonly RefChange[],
    version: number,
    packs: Packs,
    now: number,
  ): Promise<Push> {
    const { repository } = this;
    const staged =
      this.#objects.size === 0
        ? undefined
        : await receiveObjects([...this.#objects.values()], repository, packs, now);
    const after = staged ? repository.with(staged.pack) : repository;
    const checked = await checkChanges(after, changes, "server", this.budget);
    return { changes: checked, staged, repository: after, version, isAtomic: true };
  }
}

/** A signature as objects have it. What would end a name or an address is left out, as in Git. */
function signatureOf({ name, email, time, zone }: Signature): string {
  const plain = name.replace(/[\p{Cc}<>]/gu, "").trim();
  const address = email.replace(/[\p{Cc}\s<>]/gu, "");
  return `${plain || address || "unknown"} <${address}> ${time} ${offsetOf(zone)}`;
}

/** Minutes as `+0130`. */
function offsetOf(zone: number): string {
  const two = (number: number) => String(Math.floor(Math.abs(number))).padStart(2, "0");
  return `${zone < 0 ? "-" : "+"}${two(zone / 60)}${two(zone % 60)}`;
}
