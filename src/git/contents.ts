import { Budget } from "../turns/budget.ts";
import type { LineChange } from "./lines.ts";
import { Lru } from "./lru.ts";
import type { GitObject } from "./objects.ts";
import { OID_BYTES } from "./oid-table.ts";
import type { PackReader } from "./packs.ts";
import type { Repository } from "./repository.ts";

/** The name of the empty tree, which repositories need not have. */
export const EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/** Objects, by their names in hex. */
export interface Objects {
  /** What the work with them may use. */
  readonly budget: Budget;
  /** How many bytes the content of an object has. */
  sizeOf(oid: string): number;
  /** Comparisons that were made, if they are kept: neither of the files ever changes. */
  readonly compared?: KnownChanges;
  /** @throws Error if there is no such object */
  read(oid: string): Promise<GitObject>;
}

/** Objects that others can be added to. */
export interface NewObjects extends Objects {
  /** Adds an object, and returns its name in hex. */
  add(type: number, data: Buffer): string;
}

/** The lines that differ between two files, by the names of both. */
type KnownChanges = Lru<string, readonly LineChange[]>;
const CACHE = 16 * 1024 * 1024;
const known = new WeakMap<PackReader, KnownChanges>();

/** The objects of a repository. */
export class StoredObjects implements Objects {
  readonly budget: Budget;
  readonly #repository: Repository;

  /** @param budget of the work with them; by default nobody waits for it */
  constructor(repository: Repository, budget = new Budget()) {
    this.#repository = repository;
    this.budget = budget;
  }

  get compared(): KnownChanges {
    const { packs } = this.#repository;
    const found = known.get(packs) ?? new Lru(CACHE);
    known.set(packs, found);
    return found;
  }

  sizeOf(oid: string): number {
    return this.#repository.sizeOf(this.#numberOf(oid));
  }

  read(oid: string): Promise<GitObject> {
    return this.#repository.read(this.#numberOf(oid));
  }

  #numberOf(oid: string): number {
    const object = this.#repository.findHex(oid);
    if (object < 0) throw new Error(`the object ${oid} is missing`);
    return object;
  }
}

/** The name of a commit's tree, in hex. */
export function treeNameOf({ graph }: Repository, commit: number): string {
  const start = OID_BYTES * commit;
  return Buffer.from(graph.trees.subarray(start, start + OID_BYTES)).toString("hex");
}
