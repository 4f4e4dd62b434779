import { StringDecoder } from "node:string_decoder";
import type { Tag } from "sax";
import type { Budget } from "../turns/budget.ts";
import { type ElementReader, ReportError, readXml } from "./xml.ts";

/** How tests end, in the order in which reports list them. */
export const TEST_STATUSES = ["error", "failed", "success", "skipped"] as const;
export type TestStatus = (typeof TEST_STATUSES)[number];

/** One test of a report. */
export interface TestCase {
  readonly status: TestStatus;
  readonly name: string | null;
  readonly classname: string | null;
  readonly file: string | null;
  /** In seconds. */
  readonly time: number;
  /** What it has written, and what went wrong. */
  readonly output: string | null;
  /** The path of a file in the job's archive. */
  readonly attachment: string | undefined;
  /** The job's id. */
  readonly job: number;
}

/** The tests of one job, or of several that share a name. Of tests with the same name and status, the last one counts. */
export class TestSuite {
  /** Why its reports can't be read; then it has no tests. */
  error: string | undefined;
  /** What its tests have taken, in seconds. */
  time = 0;
  readonly #cases = new Map<TestStatus, Map<string, TestCase>>();

  constructor(readonly name: string) {}

  /** @param within the name of the suite in the report */
  add(within: string, added: TestCase): void {
    const own = this.#cases.get(added.status) ?? new Map<string, TestCase>();
    own.set([within, added.classname, added.name].join("_"), added);
    this.#cases.set(added.status, own);
    this.time += added.time;
  }

  /** How many tests have ended so. */
  count(status: TestStatus): number {
    return this.error === undefined ? (this.#cases.get(status)?.size ?? 0) : 0;
  }

  /** Its tests, by status; of those with the same, the slowest come first. */
  get cases(): TestCase[] {
    if (this.error !== undefined) return [];
    return TEST_STATUSES.flatMap((status) =>
      [...(this.#cases.get(status)?.values() ?? [])].sort((a, b) => b.time - a.time),
    );
  }
}

/** Bytes of an output that are kept: its beginning. */
const MOST_OUTPUT = 1024 * 1024;

const OUTPUTS = ["failure", "error", "skipped", "system-out", "system-err"] as const;
type Output = (typeof OUTPUTS)[number];
const isOutput = (name: string): name is Output => (OUTPUTS as readonly string[]).includes(name);

/** An element that is open. */
interface Frame {
  readonly kind: "suites" | "suite" | "case" | "output" | "other";
  readonly tag: Tag;
  /** What it says, if it is an output: bytes, since text that is put together of characters takes much memory. */
  readonly texts: Buffer[];
  bytes: number;
  /** Of a test. */
  readonly outputs: Map<Output, string[]>;
}

/** Where a report goes, and whose it is. */
export interface Reading {
  readonly suite: TestSuite;
  readonly job: number;
  readonly budget: Budget;
}

/**
 * Reads a report in the XML of JUnit into a suite: see {@link readXml}.
 *
 * @throws ReportError
 */
export function readJunit(text: AsyncIterable<string>, reading: Reading): Promise<void> {
  return readXml(text, new Reader(reading), reading.budget, malformed);
}

class Reader implements ElementReader {
  readonly #reading: Reading;
  readonly #open: Frame[] = [];

  constructor(reading: Reading) {
    this.#reading = reading;
  }

  open(tag: Tag): void {
    const kind = kindOf(tag.name, this.#open.at(-1)?.kind);
    this.#open.push({ kind, tag, texts: [], bytes: 0, outputs: new Map() });
  }

  note(text: string): void {
    const last = this.#open.at(-1);
    if (last?.kind !== "output" || last.bytes >= MOST_OUTPUT) return;
    const added = Buffer.from(text);
    last.texts.push(added);
    last.bytes += added.length;
  }

  close(): void {
    const { kind, tag, texts, outputs } = this.#open.pop() as Frame;
    const parent = this.#open.at(-1);
    if (kind === "output") {
      const name = tag.name as Output;
      const said = new StringDecoder("utf8").write(Buffer.concat(texts).subarray(0, MOST_OUTPUT));
      const text = said.trim() === "" ? (tag.attributes["message"] ?? "") : said;
      const known = parent?.outputs.get(name);
      if (known) known.push(text);
      else parent?.outputs.set(name, [text]);
    }
    if (kind !== "case") return;
    const { suite, job, budget } = this.#reading;
    if (!budget.spend("testCases", 1)) {
      throw new ReportError("JUnit data parsing failed: a pipeline has too many test cases");
    }
    suite.add(parent?.tag.attributes["name"] ?? suite.name, caseOf(tag, outputs, job));
  }
}

const malformed = (reason: string) => new ReportError(`JUnit XML parsing failed: ${reason}`);

/** What an element is: only one `testsuites` is read, which contains all others. */
function kindOf(name: string, parent: Frame["kind"] | undefined): Frame["kind"] {
  if (name === "testsuites" && parent === undefined) return "suites";
  const isWithin = parent === "suites" || parent === "suite";
  if (name === "testsuite" && (isWithin || parent === undefined)) return "suite";
  if (name === "testcase" && isWithin) return "case";
  return isOutput(name) && parent === "case" ? "output" : "other";
}

/** How a test says that its job's archive has a file about it, such as a picture of the screen. */
const ATTACHMENT = /\[\[ATTACHMENT\|([^[\]|]+)\]\]/;

function caseOf(
  { attributes }: Tag,
  outputs: ReadonlyMap<Output, readonly string[]>,
  job: number,
): TestCase {
  const textOf = (name: Output) => outputs.get(name)?.join("\n\n");
  const wrong = textOf("failure") ?? textOf("error");
  const out = textOf("system-out");
  const written = [
    wrong,
    out && `System Out:\n\n${out}`,
    textOf("system-err") && `System Err:\n\n${textOf("system-err")}`,
  ].filter(Boolean);
  const time = Number.parseFloat(attributes["time"] ?? "");
  const status = outputs.has("failure")
    ? "failed"
    : outputs.has("error")
      ? "error"
      : outputs.has("skipped")
        ? "skipped"
        : "success";
  return {
    status,
    name: attributes["name"] ?? null,
    classname: attributes["classname"] ?? null,
    file: attributes["file"] ?? null,
    time: Number.isFinite(time) ? time : 0,
    output: wrong === undefined ? textOf("skipped") || null : written.join("\n\n"),
    attachment: wrong === undefined ? undefined : ATTACHMENT.exec(out ?? "")?.[1],
    job,
  };
}
