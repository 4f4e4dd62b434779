import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createAppOn } from "../../src/app.ts";
import type { AttributeNotes } from "../../src/core/input.ts";
import type { Route } from "../../src/core/resource.ts";
import { openStore } from "../../src/store/open.ts";
import { createFixtures, fixtureSeed, type Places, pathOf, placesIn } from "../fixtures.ts";
import { hasTurn } from "../forms.ts";
import {
  call,
  newDatabase,
  PASSWORD_COST,
  SECRET_KEY,
  type TestApp,
  type TestDatabase,
} from "../helpers.ts";
import { toys } from "../toy/index.ts";
import { type UndoingStore, undoing } from "../undoing.ts";
import { filePartOf, routes, storesInMany } from "./routes.ts";

// As in GitLab, `null` counts as not sent or clears, and so does a blank text, unless one of some words, or text, is needed.

const named = routes.map((route) => [`${route.method} ${route.path}`, route] as const);

/** The optional attributes of a route. */
const optionalOf = ({ input = {}, upload }: Route) =>
  Object.entries(input).filter(([name, { notes }]) => notes.optional && name !== upload?.part);

/** Texts that must not be blank say so: names, titles and contents. Blank is no word of a list, which GitLab refuses, too. */
const mayBeBlank = ({ type, minLength, values }: AttributeNotes) =>
  type !== "string" || (minLength !== 1 && values === undefined);

describe("optional parameters", () => {
  it.each(named)("of %s take null, and a blank text", (_, route) => {
    const refused = optionalOf(route).flatMap(([name, { notes, schema }]) =>
      [null, ...(mayBeBlank(notes) ? [""] : [])]
        .filter((value) => !v.safeParse(schema(), value).success)
        .map((value) => [name, value]),
    );
    expect(refused).toEqual([]);
  });
});

describe("requests with one of them", () => {
  let database: TestDatabase;
  let store: UndoingStore;
  let app: Pick<TestApp, "admin" | "call" | "close">;
  let places: Places;
  beforeAll(async () => {
    database = await newDatabase();
    store = undoing(await openStore(database.database));
    const at = Date.now();
    const options = { secretKey: SECRET_KEY, now: () => at, background: false, sites: "path" };
    const made = await createAppOn(store, options, toys, PASSWORD_COST);
    app = { ...made, call: (text, more) => call(made, text, more) };
    await app.admin.seed(fixtureSeed(1));
    await createFixtures(app, 1);
    places = await placesIn(app, "acme", "acme/site");
    store.undoes = true;
  });
  afterAll(async () => {
    await app.close();
    await database.drop();
  });

  const SAMPLES: Record<string, unknown> = {
    integer: 1,
    number: 1,
    boolean: true,
    date: "2026-01-01",
    timestamp: "2026-01-01T00:00:00Z",
    "array of integer": [1],
    object: {},
  };
  /** Values that parameters of these names need. */
  const BY_NAME: Record<string, unknown> = {
    color: "#123456",
    cron: "0 1 * * *",
    email: "new@example.com",
    image_url: "https://a.test/b.svg",
    link_url: "https://a.test",
    password: "long enough",
    ref: "main",
    scopes: ["api"],
    sha: "main",
    url: "https://a.test",
    username: "somebody",
  };

  /** What routes need that they do not require by themselves. */
  const BY_ROUTE: Record<string, object> = {
    "POST /groups/:id/invitations": { email: "invited@example.com", access_level: 10 },
    "POST /projects/:id/invitations": { email: "invited@example.com", access_level: 10 },
    // There is no such label: of a list, one of four attributes is needed.
    "POST /groups/:id/boards/:board_id/lists": { label_id: 999_999 },
    "POST /projects/:id/boards/:board_id/lists": { label_id: 999_999 },
    "PUT /groups/:id/labels": { name: "label 0" },
    "PUT /projects/:id/labels": { name: "label 0" },
  };
  /** What is refused if it is blank, by its name, although it is no text that must not be blank. */
  const REFUSED: Record<string, string> = {
    default_branch: "a project with branches has a default one",
    image_url: "no address of a picture",
    level: "no level of notifications",
    link_url: "no address",
    new_name: "no name of a label",
  };

  /** What a route must be sent. */
  function neededBy(route: Route): Record<string, unknown> {
    const inPath = new Set([...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name));
    const [first] = route.atLeastOne ?? [];
    const needed = Object.entries(route.input ?? {}).filter(
      ([name, { notes }]) => (name === first || !notes.optional) && !inPath.has(name),
    );
    return {
      ...Object.fromEntries(
        needed.map(([name, { notes }]) => [
          name,
          notes.values?.[0] ?? BY_NAME[name] ?? places.params[name] ?? SAMPLES[notes.type] ?? "a",
        ]),
      ),
      ...BY_ROUTE[`${route.method} ${route.path}`],
    };
  }

  const askable = named.filter(
    ([, route]) => hasTurn(route) && !storesInMany(route) && filePartOf(route) === undefined,
  );

  it.each(askable)("%s: are answered as without it", async (_, route) => {
    const path = pathOf(route, places);
    const needed = neededBy(route);
    const isRead = route.method === "GET";
    const ask = async (more: Record<string, unknown>) => {
      const sent = { ...needed, ...more };
      const query = new URLSearchParams(sent as Record<string, string>);
      return isRead
        ? app.call(`GET ${path}?${query}`, { as: "admin" })
        : app.call(`${route.method} ${path}`, { as: "admin", json: sent });
    };
    const plain = await ask({});
    const refused: unknown[] = [];
    for (const [name, { notes }] of optionalOf(route)) {
      if (name in REFUSED || name in needed) continue;
      for (const value of isRead ? [""] : [null, ""]) {
        if (value === "" && !mayBeBlank(notes)) continue;
        const { status, text } = await ask({ [name]: value });
        if (status >= 500 || (status === 400 && text !== plain.text)) {
          refused.push([name, value, status, text]);
        }
      }
    }
    expect(refused).toEqual([]);
  });
});
