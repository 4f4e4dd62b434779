import type { Tag } from "sax";
import type { Budget } from "../turns/budget.ts";
import type { CoverageFormat } from "./report-kinds.ts";
import { type ElementReader, ReportError, readXml } from "./xml.ts";

/** Folders of a path that are compared, from its end: what a report names costs no more, however many files are asked for. */
const MOST_FOLDERS = 40;

/** The ends of a path, each without one more of its folders, the longest first: at most as many. */
function endsOf(path: string, most: number): string[] {
  const ends: string[] = [];
  let at = path.length;
  while (ends.length < most && at > 0) {
    at = path.lastIndexOf("/", at - 1);
    ends.push(path.slice(at + 1));
  }
  return ends.reverse();
}

/** How often lines of files were run: of those files that are asked for. */
export class LineCoverage {
  readonly files = new Map<string, Map<number, number>>();
  /** The files that are asked for, by their ends. */
  readonly #wanted = new Map<string, string>();
  readonly #paths: ReadonlySet<string>;
  /** Names in the longest path of these. */
  #deepest = 0;

  /** @param wanted paths of files */
  constructor(wanted: Iterable<string>) {
    this.#paths = new Set(wanted);
    for (const path of this.#paths) {
      const ends = endsOf(path, MOST_FOLDERS);
      for (const end of ends) if (!this.#wanted.has(end)) this.#wanted.set(end, path);
      this.#deepest = Math.max(this.#deepest, ends.length);
    }
  }

  /**
   * The file that is asked for which a report means.
   *
   * @param path in the report
   * @param sources folders in which it may be
   * @param isEnd whether the path may be only the end of the file's
   */
  find(path: string, sources: readonly string[], isEnd: boolean): string | undefined {
    if (this.#paths.has(path)) return path;
    if (isEnd) return this.#wanted.get(path);
    if (!this.#wanted.has(path.slice(path.lastIndexOf("/") + 1))) return undefined;
    for (const whole of [path, ...sources.map((source) => `${source}/${path}`)]) {
      const found = endsOf(whole, this.#deepest).find((end) => this.#paths.has(end));
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Notes that a line was run so often. Of several reports, each adds its own. */
  add(path: string, line: number, hits: number): void {
    const lines = this.files.get(path) ?? new Map<number, number>();
    this.files.set(path, lines);
    lines.set(line, (lines.get(line) ?? 0) + hits);
  }
}

const malformed = (format: CoverageFormat) => (reason: string) =>
  new ReportError(`${format === "jacoco" ? "JaCoCo" : "Cobertura"} XML parsing failed: ${reason}`);

/** Sources that a report may name, and characters of each. */
const MOST_SOURCES = 20;
const MOST_SOURCE = 4096;

/**
 * Reads a report of coverage: see {@link readXml}.
 *
 * @throws ReportError
 */
export function readCoverage(
  format: CoverageFormat,
  text: AsyncIterable<string>,
  coverage: LineCoverage,
  budget: Budget,
): Promise<void> {
  const reader = new Reader(format, coverage, budget);
  return readXml(text, reader, budget, malformed(format));
}

/** A folder without the slashes after it. */
function folderIn(text: string): string {
  const folder = text.trim();
  let end = folder.length;
  while (folder[end - 1] === "/") end -= 1;
  return folder.slice(0, end);
}

class Reader implements ElementReader {
  readonly #format: CoverageFormat;
  readonly #coverage: LineCoverage;
  readonly #budget: Budget;
  readonly #open: string[] = [];
  readonly #sources: string[] = [];
  /** The file whose lines follow, if it is asked for. */
  #file: string | undefined;
  #package = "";
  /** What the source that is being read says. */
  #source = "";

  constructor(format: CoverageFormat, coverage: LineCoverage, budget: Budget) {
    this.#format = format;
    this.#coverage = coverage;
    this.#budget = budget;
  }

  open({ name, attributes }: Tag): void {
    const parent = this.#open.at(-1);
    this.#open.push(name);
    if (this.#format === "cobertura") this.#openCobertura(name, attributes, parent);
    else this.#openJacoco(name, attributes);
  }

  close(): void {
    const name = this.#open.pop();
    if (name === "class" || name === "sourcefile") this.#file = undefined;
    if (name === "source") {
      if (this.#sources.length < MOST_SOURCES) this.#sources.push(folderIn(this.#source));
      this.#source = "";
    }
  }

  note(text: string): void {
    if (this.#open.at(-1) === "source" && this.#source.length < MOST_SOURCE) this.#source += text;
  }

  #openCobertura(name: string, attributes: Tag["attributes"], parent: string | undefined): void {
    const path = attributes["filename"];
    if (name === "class" && path !== undefined) {
      this.#file = this.#coverage.find(path, this.#sources, false);
    }
    // Those of its methods are among them.
    const isOfClass = parent === "lines" && this.#open.at(-3) === "class";
    if (name === "line" && isOfClass) this.#line(attributes["number"], attributes["hits"]);
  }

  #openJacoco(name: string, attributes: Tag["attributes"]): void {
    if (name === "package") this.#package = attributes["name"] ?? "";
    if (name === "sourcefile") {
      const path = [this.#package, attributes["name"] ?? ""].filter((part) => part !== "");
      this.#file = this.#coverage.find(path.join("/"), [], true);
    }
    if (name === "line") this.#line(attributes["nr"], attributes["ci"]);
  }

  #line(number: string | undefined, hits: string | undefined): void {
    if (this.#file === undefined) return;
    const [line, count] = [Number(number), Number(hits)];
    if (!Number.isSafeInteger(line) || line < 1 || !Number.isSafeInteger(count) || count < 0) {
      throw malformed(this.#format)("a line has no number, or no hits");
    }
    if (!this.#budget.spend("coveredLines", 1)) {
      throw malformed(this.#format)("the reports have too many lines");
    }
    this.#coverage.add(this.#file, line, count);
  }
}
