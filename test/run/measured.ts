// Adds a line of JSON for each test file, a `FileTime`, to the file that `TEST_TIMES` names.
import { appendFileSync } from "node:fs";
import { relative } from "node:path";
import { afterAll, expect } from "vitest";
import { cpuSeconds } from "./cpu.ts";
import { ROOT } from "./kinds.ts";

/** What a test file took. */
export interface FileTime {
  readonly file: string;
  /** CPU seconds of this process and those that it started: see {@link cpuSeconds}. */
  readonly seconds: number;
}

const into = process.env["TEST_TIMES"];
if (into) {
  // vitest evaluates this module anew for each test file.
  const before = cpuSeconds();
  afterAll(() => {
    const file = relative(ROOT, expect.getState().testPath ?? "");
    const time: FileTime = { file, seconds: cpuSeconds() - before };
    appendFileSync(into, `${JSON.stringify(time)}\n`);
  });
}
