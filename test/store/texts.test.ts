import { expect, it } from "vitest";
import { all } from "../../src/store/conditions.ts";
import { statement } from "../../src/store/texts.ts";

const named = (table: string, column: string) => statement`select ${column} from ${table}`;

it("puts a template together as JavaScript does, whatever was put together before", () => {
  expect(named("a", "b")).toBe("select b from a");
  expect(named("b", "a")).toBe("select a from b");
  expect(named("a", "b")).toBe("select b from a");
  expect(named("", "ab")).toBe("select ab from ");
  expect(statement`select 1`).toBe("select 1");
  expect(statement`${"a"}${"b"}`).toBe("ab");
});

it("forgets texts when they are too many, and puts them together again", () => {
  const long = "x".repeat(10_000);
  for (let round = 0; round < 2; round += 1) {
    for (let index = 0; index < 300; index += 1) {
      expect(named(`t${index}`, long)).toBe(`select ${long} from t${index}`);
    }
  }
});

it("tells conditions apart whose joined texts differ only in where one ends", () => {
  const joined = (...texts: string[]) => all(texts.map((sql) => ({ sql, values: [] }))).sql;
  expect(joined("a", "b", "c")).toBe("a and b and c");
  expect(joined("a and b", "c")).toBe("a and b and c");
  expect(joined("a", "c")).toBe("a and c");
  expect(joined("a")).toBe("a");
  expect(joined()).toBe("1 = 1");
});
