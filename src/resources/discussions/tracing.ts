import { type FileChange, textOf } from "../../git/changes.ts";
import { commitNumber } from "../../git/commits.ts";
import { changesBetween } from "../../git/compared.ts";
import { StoredObjects } from "../../git/contents.ts";
import { type LineMap, mapLines } from "../../git/patches.ts";
import type { Repository } from "../../git/repository.ts";
import { Budget } from "../../turns/budget.ts";
import { afterOf, beforeOf } from "./lines.ts";
import {
  changeAt,
  type DiffRefs,
  type FoundPlace,
  findPlace,
  type Position,
  type SentLine,
} from "./positions.ts";

/** Where a file went from one commit to another. */
interface Followed {
  readonly path: string;
  /** Whether it has the same content. */
  readonly isSame: boolean;
  /** The number that a line has now; `undefined` if it is gone. */
  lineAt(line: number): number | undefined;
}

/** A line of a position, by its numbers before and after the change. */
type Lines = Pick<Position, "old_line" | "new_line">;

/** Follows positions into another diff of the same repository, as GitLab does. */
export class Tracer {
  readonly #repository: Repository;
  readonly #to: DiffRefs;
  /** What is known of files, by the commits and the path. */
  readonly #followed = new Map<string, Promise<Followed | undefined>>();
  readonly #maps = new Map<FileChange, Promise<LineMap | undefined>>();

  /** @param to the diff that positions are followed into */
  constructor(repository: Repository, to: DiffRefs) {
    this.#repository = repository;
    this.#to = to;
  }

  /** Whether a position is in the diff already. */
  isThere({ base_sha, start_sha, head_sha }: DiffRefs): boolean {
    const to = this.#to;
    return base_sha === to.base_sha && start_sha === to.start_sha && head_sha === to.head_sha;
  }

  /**
   * Follows a position into the diff.
   *
   * @returns `undefined` if it is outdated: what it is about is not in the diff any more
   */
  async trace(position: Position): Promise<FoundPlace | undefined> {
    const { position_type, old_path, new_path, width = 0, height = 0, x = 0, y = 0 } = position;
    const after = await this.#follow(position.head_sha, this.#to.head_sha, new_path);
    const before = await this.#follow(position.base_sha, this.#to.base_sha, old_path);
    const isAfter = position_type !== "text" || position.new_line != null;
    const paths = {
      old_path: isAfter ? undefined : before?.path,
      new_path: isAfter ? after?.path : undefined,
    };
    if (!paths.old_path && !paths.new_path) return undefined;
    const place = { ...this.#to, ...paths, position_type };
    if (position_type !== "text") {
      if (!after?.isSame) return undefined;
      const image = position_type === "image" ? { width, height, x, y } : undefined;
      const none = { before: undefined, after: undefined };
      return findPlace(this.#repository, { ...place, line: none, range: undefined, image });
    }
    const change = await changeAt(this.#repository, this.#to, paths);
    const map = change && (await this.#mapOf(change));
    if (!map) return undefined;
    const follow = (lines: Lines) => followLine(map, lines, before, after);
    const line = follow(position);
    if (!line) return undefined;
    const { line_range } = position;
    const [start, end] = [line_range?.start, line_range?.end].map((one) => one && follow(one));
    const range = start && end ? { start, end } : undefined;
    const found = { ...place, line, range, image: undefined };
    return findPlace(this.#repository, found, (one) => this.#mapOf(one));
  }

  #follow(from: string, to: string, path: string): Promise<Followed | undefined> {
    const key = `${from} ${to} ${path}`;
    const known = this.#followed.get(key) ?? this.#find(from, to, path);
    this.#followed.set(key, known);
    return known;
  }

  async #find(from: string, to: string, path: string): Promise<Followed | undefined> {
    const unmoved = { path, isSame: true, lineAt: (line: number) => line };
    if (from === to) return unmoved;
    const [before, after] = [from, to].map((name) => commitNumber(this.#repository, name));
    if (before === undefined || after === undefined) return undefined;
    const changes = await changesBetween(this.#repository, before, after, new Budget());
    const change = changes.find((one) => one.from && textOf(one.from.path) === path);
    if (!change) return unmoved;
    if (!change.to) return undefined;
    const now = { ...unmoved, path: textOf(change.to.path) };
    if (change.from?.oid === change.to.oid) return now;
    const map = await this.#mapOf(change);
    return { ...now, isSame: false, lineAt: (line) => map && afterOf(map, line) };
  }

  #mapOf(change: FileChange): Promise<LineMap | undefined> {
    const known = this.#maps.get(change) ?? mapLines(new StoredObjects(this.#repository), change);
    this.#maps.set(change, known);
    return known;
  }
}

/** @param map of the file in the diff that the line is followed into */
function followLine(
  map: LineMap,
  { old_line, new_line }: Lines,
  fileBefore: Followed | undefined,
  fileAfter: Followed | undefined,
): SentLine | undefined {
  const before = old_line == null ? undefined : fileBefore?.lineAt(old_line);
  const after = new_line == null ? undefined : fileAfter?.lineAt(new_line);
  if (new_line == null) {
    // A line that is not removed any more is outdated.
    const isRemoved = before !== undefined && afterOf(map, before) === undefined;
    return isRemoved ? { before, after: undefined } : undefined;
  }
  if (after === undefined) return undefined;
  // An added line may have become one that both sides have.
  const same = beforeOf(map, after);
  return old_line == null || same === before ? { before: same, after } : undefined;
}
