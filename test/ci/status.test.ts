import { describe, expect, it } from "vitest";
import {
  compositeStatus,
  isCron,
  isTimeZone,
  type JobState,
  type JobStatus,
  nextRun,
  startable,
} from "../../src/ci/index.ts";

/** A job's status; an exclamation mark says that it may fail. */
function state(text: string): Pick<JobState, "status" | "allowFailure"> {
  return { status: text.replace("!", "") as JobStatus, allowFailure: text.endsWith("!") };
}

describe("the status of a pipeline comes from its jobs", () => {
  it.each([
    ["", undefined],
    ["skipped", "skipped"],
    ["skipped manual!", "skipped"],
    ["success", "success"],
    ["success skipped", "success"],
    ["success failed!", "success"],
    ["success canceled! manual!", "success"],
    ["failed!", "success"],
    ["created", "created"],
    ["created failed! manual!", "created"],
    ["preparing", "preparing"],
    ["canceled", "canceled"],
    ["canceled success skipped", "canceled"],
    ["pending", "pending"],
    ["pending created", "pending"],
    ["pending skipped failed!", "pending"],
    ["pending success", "running"],
    ["running", "running"],
    ["running failed", "running"],
    ["success created", "running"],
    ["failed created", "running"],
    ["waiting_for_resource success", "waiting_for_resource"],
    ["waiting_for_callback success", "waiting_for_callback"],
    ["manual success", "manual"],
    ["manual failed", "manual"],
    ["manual created", "manual"],
    ["scheduled success", "scheduled"],
    ["scheduled manual", "manual"],
    ["preparing success", "preparing"],
    ["canceling success", "canceling"],
    ["canceling created", "running"],
    ["failed", "failed"],
    ["failed success skipped", "failed"],
    ["failed canceled", "failed"],
    ["failed failed!", "failed"],
    ["failed manual!", "failed"],
    ["canceling canceled!", "canceling"],
  ])("%s: %s", (states, status) => {
    expect(compositeStatus(states.split(" ").filter(Boolean).map(state))).toBe(status);
  });
});

/** Jobs as `name stage status[!] [when] [<need,need>]`. */
function jobs(...texts: string[]): JobState[] {
  return texts.map((text) => {
    const [name = "", stage, status = "", ...rest] = text.split(" ");
    const needs = rest.find((part) => part.startsWith("<"));
    const when = (rest.find((part) => !part.startsWith("<")) ?? "on_success") as JobState["when"];
    return {
      name,
      stageIndex: Number(stage),
      ...state(status),
      when,
      ...(needs && { needs: needs.slice(1, -1).split(",").filter(Boolean) }),
    };
  });
}

function started(...texts: string[]) {
  return startable(jobs(...texts)).map(({ job, status }) => `${job.name} ${status}`);
}

describe("what starts next", () => {
  it.each<[what: string, texts: string[], result: string[]]>([
    ["the first stage", ["a 0 created", "b 0 created", "c 1 created"], ["a pending", "b pending"]],
    ["nothing while a stage runs", ["a 0 running", "b 0 success", "c 1 created"], []],
    ["the next stage", ["a 0 success", "b 1 created", "c 2 created"], ["b pending"]],
    ["a stage after an empty one", ["a 0 success", "b 5 created"], ["b pending"]],
    ["a stage after one that was skipped", ["a 0 skipped", "b 1 created"], ["b pending"]],
    ["a stage after an allowed failure", ["a 0 failed!", "b 1 created"], ["b pending"]],
    ["nothing after a failure", ["a 0 failed", "b 1 created", "c 2 created"], ["b skipped"]],
    [
      "clean-up after a failure",
      ["a 0 failed", "b 1 created on_failure", "c 1 created always"],
      ["b pending", "c pending"],
    ],
    [
      "clean-up two stages after a failure",
      ["a 0 failed", "b 1 skipped", "c 2 created on_failure"],
      ["c pending"],
    ],
    [
      "no clean-up after success",
      ["a 0 success", "b 1 created on_failure", "c 1 created always"],
      ["b skipped", "c pending"],
    ],
    [
      "nothing after cancelling",
      ["a 0 canceled", "b 1 created", "c 1 created always", "d 1 created on_failure"],
      ["b skipped", "c skipped", "d skipped"],
    ],
    ["a manual job", ["a 0 success", "b 1 created manual"], ["b manual"]],
    ["a manual job of the first stage", ["a 0 created! manual", "b 1 created"], ["a manual"]],
    ["a stage after an optional manual job", ["a 0 manual!", "b 1 created"], ["b pending"]],
    ["nothing after a manual job that holds", ["a 0 manual", "b 1 created"], []],
    ["nothing manual after a failure", ["a 0 failed", "b 1 created manual"], ["b skipped"]],
    ["a delayed job", ["a 0 success", "b 1 created delayed"], ["b scheduled"]],
    ["nothing after a delayed job", ["a 0 scheduled", "b 1 created"], []],
    ["a job that needs nothing", ["a 0 running", "b 3 created <>"], ["b pending"]],
    [
      "a job whose needs have ended",
      ["a 0 success", "x 0 running", "b 1 created <a>", "c 1 created"],
      ["b pending"],
    ],
    ["nothing whose needs run", ["a 0 success", "x 0 running", "b 1 created <a,x>"], []],
    ["nothing whose needs have failed", ["a 0 failed", "b 1 created <a>"], ["b skipped"]],
    ["a job whose needs may fail", ["a 0 failed!", "b 1 created <a>"], ["b pending"]],
    [
      "clean-up whose needs have failed",
      ["a 0 failed", "b 1 created on_failure <a>", "c 1 created always <a>"],
      ["b pending", "c pending"],
    ],
    [
      "nothing whose needs were skipped",
      ["a 0 skipped", "x 0 running", "b 1 created <a,x>"],
      ["b skipped"],
    ],
    [
      "a job in any case whose needs were skipped",
      ["a 0 skipped", "b 1 created always <a>"],
      ["b pending"],
    ],
    [
      "nothing that needs an optional manual job",
      ["a 0 manual!", "b 1 created <a>"],
      ["b skipped"],
    ],
    ["nothing that needs a manual job", ["a 0 manual", "b 1 created <a>"], []],
    [
      "a job of the same stage that is needed",
      ["a 0 success", "b 0 created <a>", "c 0 created <b>"],
      ["b pending"],
    ],
  ])("%s", (_, texts, result) => {
    expect(started(...texts)).toEqual(result);
  });
});

describe("the next run of a schedule", () => {
  it.each([
    ["0 1 * * *", "UTC", "2026-01-01T00:59:59.999Z", "2026-01-01T01:00:00.000Z"],
    ["0 1 * * *", "UTC", "2026-01-01T01:00:00Z", "2026-01-02T01:00:00.000Z"],
    ["*/15 * * * *", "Asia/Kathmandu", "2026-01-01T00:01:00Z", "2026-01-01T00:15:00.000Z"],
    ["0 9 * * 1-5", "America/New_York", "2026-07-03T14:00:00Z", "2026-07-06T13:00:00.000Z"],
    ["0 9 * * MON", "America/New_York", "2026-01-01T00:00:00Z", "2026-01-05T14:00:00.000Z"],
    ["0 0 * * 7", "UTC", "2026-01-01T00:00:00Z", "2026-01-04T00:00:00.000Z"],
    ["0 0 31 * *", "UTC", "2026-01-31T00:00:00Z", "2026-03-31T00:00:00.000Z"],
    ["0 0 29 2 *", "UTC", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00.000Z"],
    ["0 0 13 * 5", "UTC", "2026-01-03T00:00:00Z", "2026-01-09T00:00:00.000Z"],
    ["0 22 1,15 * *", "Europe/Berlin", "2026-07-02T00:00:00Z", "2026-07-15T20:00:00.000Z"],
    ["@daily", "America/New_York", "2026-01-01T01:00:00Z", "2026-01-01T05:00:00.000Z"],
    ["@weekly", "UTC", "2026-01-01T00:00:00Z", "2026-01-04T00:00:00.000Z"],
    // Clocks go forward at 2:00 on 29 March and back at 3:00 on 25 October.
    ["30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00.000Z"],
    ["30 2 * * *", "Europe/Berlin", "2026-03-29T02:00:00Z", "2026-03-30T00:30:00.000Z"],
    ["30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00.000Z"],
    ["30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00.000Z"],
    ["0 * * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", "2026-10-25T01:00:00.000Z"],
  ])("%s in %s after %s", (expression, timeZone, after, next) => {
    expect(nextRun(expression, timeZone, new Date(after))?.toISOString()).toBe(next);
  });

  it("does not exist for a day that never comes", () => {
    expect(nextRun("0 0 30 2 *", "UTC", new Date(0))).toBeUndefined();
  });

  it.each([
    "",
    "bad",
    "* * * *",
    "* * * * * *",
    "60 * * * *",
    "* 24 * * *",
    "0 0 32 * *",
    "0 0 * 13 *",
    "0 0 * * 8",
    "*/0 * * * *",
    "@reboot",
    "0 0 * * *".padEnd(300),
  ])("does not exist for an invalid expression: %j", (expression) => {
    expect(isCron(expression)).toBe(false);
    expect(nextRun(expression, "UTC", new Date(0))).toBeUndefined();
  });

  it("does not exist in an unknown time zone", () => {
    expect(isTimeZone("Europe/Berlin")).toBe(true);
    for (const name of ["Mars/Olympus", "", "+02:00"]) {
      expect(isTimeZone(name)).toBe(false);
      expect(nextRun("0 0 * * *", name, new Date(0))).toBeUndefined();
    }
  });
});
