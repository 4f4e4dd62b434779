import type { Reader } from "../store/port.ts";
import type { RowReader } from "./statements.ts";
import { lengthOf, type Node, type Text } from "./texts.ts";

/** Objects that the answer to one document may have. */
const MAX_OBJECTS = 20_000;
/** Characters that the answer may have, and those that the rows read for it may have. */
const MAX_CHARACTERS = 16 * 1024 * 1024;

/** A document asks for more than {@link MAX_OBJECTS} or {@link MAX_CHARACTERS}: it ends the execution. */
export class TooMuch extends Error {
  override get name() {
    return "TooMuch" as const;
  }
  constructor() {
    super(`The answer has more than ${MAX_OBJECTS} objects or 16 MiB: ask for smaller pages`);
  }
}

/** What is left of the objects and characters that the answer to one document may have. */
export class Quota {
  readonly #db: Reader;
  #objectsLeft = MAX_OBJECTS;
  #charactersToRead = MAX_CHARACTERS;
  #charactersToWrite = MAX_CHARACTERS;

  constructor(db: Reader) {
    this.#db = db;
  }

  /** Reads rows and counts them. Numbers that no column can have, such as those of texts that are none, are compared as null. */
  readonly rows: RowReader = async (sql, lists) => {
    const usable = lists.map((values) =>
      values.map((value) =>
        typeof value === "number" && !Number.isSafeInteger(value) ? null : value,
      ),
    );
    const slices = await this.#db.each(sql, usable, this.#charactersToRead);
    for (const { rows, more } of slices) {
      this.take(rows.length);
      for (const row of rows) {
        for (const value of row) {
          if (typeof value === "string") this.#charactersToRead -= value.length;
        }
      }
      if (more || this.#charactersToRead < 0) throw new TooMuch();
    }
    return slices.map(({ rows }) => rows);
  };

  /** Counts objects before they are read. */
  take(objects: number): void {
    this.#objectsLeft -= objects;
    if (this.#objectsLeft < 0) throw new TooMuch();
  }

  /** Counts characters before they are put together. */
  spend(characters: number): void {
    this.#charactersToWrite -= characters;
    if (this.#charactersToWrite < 0) throw new TooMuch();
  }

  /** Counts texts that have been written, and returns them. */
  spent<T extends Text>(texts: T[]): T[] {
    this.spend(lengthOf(texts));
    return texts;
  }

  /** Writes the texts of a field one by one, so that no more are made than the answer may have. */
  written(nodes: readonly Node[], write: (node: Node) => string): string[] {
    this.spend(0);
    return nodes.map((node) => {
      const text = write(node);
      this.spend(text.length);
      return text;
    });
  }

  /** The texts at indexes, with `null` where there is none; those written more than once are counted again. */
  repeated(texts: readonly Text[], indexes: readonly (number | undefined)[]): Text[] {
    const all = indexes.map((index) => (index === undefined ? "null" : (texts[index] as Text)));
    this.spend(Math.max(0, lengthOf(all) - lengthOf(texts)));
    return all;
  }
}
