import { describe, expect, it } from "vitest";
import type { CallOptions, Person, TestApp } from "../helpers.ts";

/** A numbered case: one request and its expected answer, of which objects may have more keys. */
export type Case = [
  number: string,
  request: string,
  as: Person,
  status: number,
  body?: unknown,
  options?: CallOptions,
];

/**
 * Declares a test for each case, in groups.
 *
 * @param app the application, once the tests run
 * @param names `{name}` in requests, bodies and expected answers is replaced by the value of that name
 * @param created what the answer 201 of a case is called with
 */
export function describeCases(
  app: () => TestApp,
  names: Readonly<Record<string, string | number>>,
  cases: Readonly<Record<string, Case[]>>,
  created: Readonly<Record<string, (json: Answered) => void>> = {},
): void {
  describe.each(Object.entries(cases))("%s", (_, rows) => {
    it.each(rows)("%s: %s as %s is %i", async (number, request, as, status, body, options) => {
      const answer = await app().call(filled(request, names), { as, ...filled(options, names) });
      expect(answer.status, answer.text).toBe(status);
      if (body !== undefined) expect(answer.json).toEqual(matching(filled(body, names)));
      if (status === 201) created[number]?.(answer.json);
    });
  });
}

/** What later cases take from an answer. */
interface Answered {
  readonly id: number;
  readonly token: string;
}

/** Replaces the names in all texts of a value. */
function filled<T>(value: T, names: Readonly<Record<string, string | number>>): T;
function filled(value: unknown, names: Readonly<Record<string, string | number>>): unknown {
  if (typeof value === "string") {
    return value.replace(/\{(\w+)\}/g, (match, name: string) => String(names[name] ?? match));
  }
  if (Array.isArray(value)) return value.map((one) => filled(one, names));
  if (!isPlain(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, filled(one, names)]));
}

/** Matches any value with at least these keys, at any depth. */
function matching(body: unknown): unknown {
  if (Array.isArray(body)) return body.map(matching);
  if (!isPlain(body)) return body;
  return expect.objectContaining(
    Object.fromEntries(Object.entries(body).map(([key, value]) => [key, matching(value)])),
  );
}

function isPlain(value: unknown): value is object {
  return value !== null && typeof value === "object" && !("asymmetricMatch" in value);
}
