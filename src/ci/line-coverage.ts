import type { Tag } from "sax";
import type { Budget } from "../turns/budget.ts";
import type { CoverageFormat } from "./report-kinds.ts";
import { type ElementReader, ReportError, readXml } from "./xml.ts";

/** How often lines of files were run: of those files that are asked for. */
export class LineCoverage {
  readonly files = new Map<string, Map<number, number>>();
  /** The files that are asked for, by their names without folders. */
  readonly #wanted = new Map<string, string[]>();

  /** @param wanted paths of files */
  constructor(wanted: Iterable<string>) {
    for (const path of wanted) {
      const name = nameOf(path);
      const known = this.#wanted.get(name);
      if (known) known.push(path);
      else this.#wanted.set(name, [path]);
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
    const wanted = this.#wanted.get(nameOf(path)) ?? [];
    if (wanted.includes(path)) return path;
    const inSources = sources.map((source) => `${source.replace(/\/+$/, "")}/${path}`);
    return wanted.find(
      (one) =>
        inSources.some((whole) => whole === one || whole.endsWith(`/${one}`)) ||
        (isEnd ? one.endsWith(`/${path}`) : path.endsWith(`/${one}`)),
    );
  }

  /** Notes that a line was run so often. Of several reports, each adds its own. */
  add(path: string, line: number, hits: number): void {
    const lines = this.files.get(path) ?? new Map<number, number>();
    this.files.set(path, lines);
    lines.set(line, (lines.get(line) ?? 0) + hits);
  }
}

const nameOf = (path: string) => path.slice(path.lastIndexOf("/") + 1);

const malformed = (format: CoverageFormat) => (reason: string) =>
  new ReportError(`${format === "jacoco" ? "JaCoCo" : "Cobertura"} XML parsing failed: ${reason}`);

/** Sources that a report may name, and characters of each. */
const MOST_SOURCES = 100;
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
      if (this.#sources.length < MOST_SOURCES) this.#sources.push(this.#source.trim());
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
