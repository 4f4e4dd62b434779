import { describe, expect, it } from "vitest";
import * as field from "../../src/core/field.ts";
import { type Presenter, presenter } from "../../src/core/presenter.ts";
import type { Route } from "../../src/core/resource.ts";
import { allResources } from "../../src/mounts.ts";
import { basicProject } from "../../src/resources/projects/json.ts";
import type { Value } from "../../src/store/port.ts";

const view: field.View = {
  base: "https://pm.test",
  host: "pm.test",
  now: Date.UTC(2026, 10, 21),
  open: (text) => text,
  sshUrl: (path) => `git@pm.test:${path}.git`,
  servesSsh: false,
};

/** Inputs for which routes choose between their presenters. */
const INPUTS = [{}, { simple: true }, { with_content: true }, { with_projects: false }];
const CALLERS = [undefined, { admin: false }, { admin: true }].map(
  (rights) =>
    rights && {
      ...rights,
      id: 1,
      username: "ada",
      external: false,
      scopes: ["api"],
      by: { kind: "token", id: 1 } as const,
    },
);

const presenters = new Map<Presenter, string>();
/** The inputs of a route: each value of an attribute that it requires, which its presenter may depend on. */
function inputsOf({ input = {} }: Route): Record<string, unknown>[] {
  const required = Object.entries(input).flatMap(([name, schema]) => {
    const { values = [], optional } = schema.notes;
    return optional ? [] : values.map((value) => ({ [name]: value }));
  });
  return required.length > 0 ? required : INPUTS;
}

for (const { routes } of allResources) {
  for (const route of routes) {
    const { method, path, access, presenter: given } = route;
    const callers = access === "anyone" ? CALLERS : CALLERS.filter((caller) => caller);
    const chosen =
      typeof given === "function"
        ? inputsOf(route).flatMap((input) => callers.map((caller) => given({ input, caller })))
        : [given];
    for (const one of chosen) {
      if (one && !presenters.has(one))
        presenters.set(one, `${method} ${path} (${presenters.size})`);
    }
  }
}

/** Columns of fields whose types don't say which values they may have. */
const KNOWN: Record<string, Value> = {
  "pl.status": "running",
  "h.disabled_until": Date.UTC(2016, 0, 4),
  "fe.value": "50",
  "n.kept_settings": "{}",
  "p.kept_settings": "{}",
  "ap.kept_settings": "{}",
  "p.environments_enabled": 1,
  "p.package_registry_enabled": 1,
  "p.releases_enabled": 1,
  "p.repository_enabled": 1,
  "m.access_level": 30,
  "mq.blocking_id": "{}",
  "mq.blocked_id": "{}",
  "s.from_content": '"a\\n"',
  "s.to_content": '"b\\n"',
};

/** A value that a column of a field may have: the field's type says which. */
function valueFor({ type }: field.Field, column: string): Value {
  const known = KNOWN[column];
  if (known !== undefined) return known;
  if (/^('\[\]'|null) as /.test(column) || /^(array|object|Issue|Commit|Epic)/.test(type)) {
    return JSON.stringify([{ name: 'a "b"', at: null, size: 1.5 }]);
  }
  if (type === "integer") return 4711;
  if (type.startsWith("number")) return 1.5;
  if (type === "boolean") return 1;
  if (type === "timestamp") return Date.UTC(2016, 0, 4, 15, 31, 39, 996);
  if (type === "date") return "2016-01-04";
  if (type.includes("private, ")) return 10;
  return 'Käse \\ "quoted"\n\t\u2028😀';
}

const numberOr = (path: string, value: Value | undefined): Value =>
  typeof value === "number" ? value : path;

/** Whether an object has the columns of its fields: one that is stored as JSON has its own. */
const isNested = ({ type, columns }: field.Field, fields: field.Fields) =>
  type === "object" &&
  Object.values(fields).every((inner) => inner.columns.every((column) => columns.includes(column)));

/** A row with a value in each of a presenter's columns. */
function fullRow({ fields }: Presenter): Value[] {
  const values = new Map<string, Value>();
  const fill = (some: field.Fields) => {
    for (const one of Object.values(some)) {
      if (one.fields && isNested(one, one.fields)) fill(one.fields);
      for (const column of one.columns) {
        // URLs are made of ids and paths, which have nothing to escape.
        if (one.type === "URL") values.set(column, numberOr("acme", values.get(column)));
        else if (!values.has(column)) values.set(column, valueFor(one, column));
      }
    }
  };
  fill(fields);
  return [...values.values()];
}

// What a fork comes from is read as a row of its own.
KNOWN["p.forked_from_project_id"] = JSON.stringify(fullRow(basicProject));

describe("the value of a row is what its JSON text says", () => {
  it("there are many presenters", () => {
    expect(presenters.size).toBeGreaterThan(30);
  });

  it.each([...presenters].map(([one, name]) => [name, one] as const))("%s", (_, one) => {
    const full = fullRow(one);
    const rows = [full, full.map(() => null)];
    for (const index of full.keys()) rows.push(full.with(index, null));
    for (const row of rows) {
      const text = one.write(row, view);
      expect(JSON.stringify(one.value(row, view))).toBe(text);
      expect(JSON.parse(text)).toEqual(one.value(row, view));
    }
    const shown = one.value(full, view) as object;
    const isShown = ([name, { omitted }]: [string, field.Field]) => name in shown || !omitted;
    const expected = Object.entries(one.fields).filter(isShown);
    expect(Object.keys(shown)).toEqual(expected.map(([name]) => name));
  });
});

const thing = presenter({
  id: field.integer("t.id"),
  kind: field.constant("thing"),
  owner: field.omittedIfNull(field.nested({ id: field.integer("u.id") })),
  rank: field.omittedIf((value) => value === 0, field.integer("t.rank")),
  name: field.text("t.name"),
});

it.each<[Value[], object]>([
  [[1, 2, 3, "x"], { id: 1, kind: "thing", owner: { id: 2 }, rank: 3, name: "x" }],
  [[1, null, null, null], { id: 1, kind: "thing", rank: null, name: null }],
  [[1, null, 0, "null"], { id: 1, kind: "thing", name: "null" }],
])("fields are left out by their own conditions: %j", (row, expected) => {
  expect(thing.write(row, view)).toBe(JSON.stringify(expected));
  expect(thing.value(row, view)).toEqual(expected);
});

it("the place of a field without a column, or of none, is an error that names it", () => {
  expect(thing.at("rank")).toBe(2);
  expect(() => thing.at("kind")).toThrow("no column for kind");
  expect(() => thing.at("nmae")).toThrow("no column for nmae");
});
