// Visitors who fill in forms, and what is in these.
import { expect } from "vitest";
import { givePassword, PASSWORD, type Person, type TestApp } from "../helpers.ts";
import { Visitor } from "../visitor.ts";

/** A text that would run if it were markup. */
export const HOSTILE = `<script>alert(1)</script><img src=x onerror=alert(1)>"'&`;

/** What would run. */
export const RUNS = /<script|<img src=x|<\w[^>"]*\sonerror/i;

/** What the fields of a page hold, by their names: of checkboxes and choices, those that are chosen. */
export function fieldsOf(page: string): Record<string, string> {
  const fields: Record<string, string> = {};
  const main = page.slice(page.indexOf("<main"));
  const text = (markup: string) =>
    markup
      .replaceAll("&lt;", "<")
      .replaceAll("&gt;", ">")
      .replaceAll("&quot;", '"')
      .replaceAll("&#39;", "'")
      .replaceAll("&amp;", "&");
  const attribute = (tag: string, name: string) =>
    text(new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1] ?? "");
  for (const [tag] of main.matchAll(/<input[^>]*>/g)) {
    const name = attribute(tag, "name");
    if (tag.includes('type="file"')) continue;
    if (tag.includes('type="checkbox"') && !/\schecked/.test(tag)) continue;
    const value = attribute(tag, "value");
    if (name.endsWith("[]")) {
      fields[name] = [fields[name], value].filter(Boolean).join(",");
    } else if (name !== "authenticity_token") fields[name] = value;
  }
  for (const [, tag = "", value = ""] of main.matchAll(/<textarea([^>]*)>\n([^<]*)<\/textarea>/g)) {
    fields[attribute(tag, "name")] = text(value);
  }
  for (const [, tag = "", options = ""] of main.matchAll(/<select([^>]*)>(.*?)<\/select>/gs)) {
    const chosen = /<option value="([^"]*)" selected>/.exec(options);
    fields[attribute(tag, "name")] = text(chosen?.[1] ?? "");
  }
  return fields;
}

/** Signed-in visitors, by who they are. */
export interface Forms {
  readonly as: (person: Person) => Visitor;
  /** What each of some people gets for a form: the status of its page, and of sending it. */
  readonly answersFor: (
    path: string,
    form: Record<string, string | string[]>,
    expected: Partial<Record<Person, readonly [shown: number, sent: number]>>,
  ) => Promise<void>;
}

/** Signs people in. */
export async function visitForms(app: TestApp): Promise<Forms> {
  const people = ["owner", "maintainer", "developer", "reporter", "guest", "stranger"] as const;
  await givePassword(app, ...people);
  const visitors = new Map<Person, Visitor>();
  for (const person of people) {
    const visitor = new Visitor(app);
    expect((await visitor.signIn(person, PASSWORD)).status).toBe(303);
    // Every page has the token of the session.
    await visitor.get("/dashboard/projects");
    visitors.set(person, visitor);
  }
  const anonymous = new Visitor(app);
  await anonymous.get("/users/sign_in");
  visitors.set("anonymous", anonymous);
  const as = (person: Person) => visitors.get(person) as Visitor;
  return {
    as,
    answersFor: async (path, form, expected) => {
      const answers: Record<string, readonly [number, number]> = {};
      for (const person of Object.keys(expected) as Person[]) {
        const visitor = as(person);
        const shown = await visitor.get(path);
        answers[person] = [shown.status, (await visitor.post(path, form)).status];
      }
      expect(answers).toEqual(expected);
    },
  };
}
