import { describe, expect, it } from "vitest";
import {
  earliestStart,
  lacking,
  nextStart,
  type Span,
  spansFrom,
} from "../../src/resources/iterations/schedule.ts";

/** The first days of spans. */
const starts = (spans: readonly Span[]) => spans.map(({ start_date }) => start_date.slice(5));
const weekly = { start_date: "2026-03-02", duration_in_weeks: 1, iterations_in_advance: 2 };
const weeks = (first: string, count: number) => spansFrom(first, 1, count);

describe("an automatic cadence", () => {
  it("lacks those ahead, the current one and those that were missed", () => {
    const of = (today: string, present: readonly Span[] = []) =>
      starts(lacking(weekly, present, today));
    expect(of("2026-03-01")).toEqual(["03-02", "03-09"]);
    expect(of("2026-03-02")).toEqual(["03-02", "03-09", "03-16"]);
    expect(of("2026-03-08")).toEqual(["03-02", "03-09", "03-16"]);
    expect(of("2026-03-09")).toEqual(["03-02", "03-09", "03-16", "03-23"]);
    const three = weeks("2026-03-02", 3);
    expect(of("2026-03-08", three)).toEqual([]);
    expect(of("2026-03-09", three)).toEqual(["03-23"]);
    expect(of("2026-03-30", three)).toEqual(["03-23", "03-30", "04-06", "04-13"]);
    expect(of("2126-03-30", three)).toHaveLength(200);
  });

  it("goes on on the weekday of its start, and not before it", () => {
    const present = [{ start_date: "2026-02-16", due_date: "2026-02-25" }];
    expect(starts(lacking(weekly, present, "2026-02-20"))).toEqual(["03-02", "03-09"]);
    expect(starts(lacking({ ...weekly, start_date: "2026-03-18" }, present, "2026-02-20"))).toEqual(
      ["03-18", "03-25"],
    );
  });

  it("makes more or fewer of other lengths, without a gap", () => {
    const monthly = { ...weekly, duration_in_weeks: 4, iterations_in_advance: 1 };
    expect(lacking(monthly, [], "2026-03-02")).toEqual([
      { start_date: "2026-03-02", due_date: "2026-03-29" },
      { start_date: "2026-03-30", due_date: "2026-04-26" },
    ]);
    expect(
      lacking({ ...weekly, iterations_in_advance: 1 }, weeks("2026-03-02", 4), "2026-03-03"),
    ).toEqual([]);
  });

  it("begins the next one behind the current one, or where it would have been", () => {
    const present = weeks("2026-03-02", 2);
    expect(nextStart({ ...weekly, start_date: "2026-05-04" }, present, "2026-03-10")).toBe(
      "2026-05-04",
    );
    expect(nextStart(weekly, present, "2026-03-03")).toBe("2026-03-09");
    expect(nextStart(weekly, present, "2026-03-10")).toBe("2026-03-16");
    expect(nextStart(weekly, present, "2026-03-18")).toBe("2026-03-16");
    expect(nextStart(weekly, present, "2026-04-01")).toBe("2026-03-30");
    expect(nextStart(weekly, [], "2026-03-03")).toBe("2026-03-02");
    expect(earliestStart(2, "2026-03-15")).toBe("2026-03-02");
  });
});
