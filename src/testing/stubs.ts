import * as v from "valibot";
import { notFound } from "../core/errors.ts";
import type { Incoming, Reply } from "../core/http/incoming.ts";
import {
  NOT_TEXT,
  type OptionSchemas,
  optionsOf,
  readOptions,
  textOption,
  wholeOption,
} from "../core/options.ts";
import { either } from "./either.ts";
import { fitsPattern, type PathPattern } from "./paths.ts";

/** A canned answer, for what the server lacks or is to answer otherwise. */
export interface Stub {
  /** Its name; another one with the same name replaces it. Default: its method and path. */
  id?: string | undefined;
  /** Default: any. */
  method?: string | undefined;
  /** The path as the client sends it, without the query: the whole path, in which `*` stands for any text, or a RegExp. */
  path: PathPattern;
  /** Default 200. */
  status?: number | undefined;
  /** Headers by name, in addition to the body's content type. */
  headers?: Record<string, string> | undefined;
  /** A string as text, anything else as JSON. Default: none. */
  body?: unknown;
}

const entries = {
  id: v.optional(textOption),
  method: v.optional(textOption),
  path: v.union([textOption, v.instance(RegExp)], "must be a text or a RegExp"),
  status: v.optional(wholeOption(200, 599)),
  headers: v.optional(v.record(v.string(), v.string(NOT_TEXT), "must be an object of texts")),
  body: v.optional(v.any()),
} satisfies OptionSchemas<Stub>;

/** The schema of {@link Stub}. */
export const stubOption = optionsOf(entries);

/** The schema of one stub, or a list of them. */
const stubsOption = listOr(stubOption);

/** {@link stubsOption} of what is sent. */
export const sentStubsOption = listOr(optionsOf({ ...entries, path: textOption }));

function listOr(one: v.GenericSchema): v.GenericSchema<unknown, Stub | Stub[]> {
  const stub = one as v.GenericSchema<unknown, Stub>;
  return either(Array.isArray, v.array(stub), stub);
}

/** A stub that was set. */
export interface SetStub extends Stub {
  readonly id: string;
  /** How many requests it has answered. */
  readonly used: number;
}

/** The canned answers of a test server. If several fit a request, the one that was set last answers it. */
export interface Stubs {
  /**
   * Sets one, or a list of them in the place of all others.
   *
   * @throws OptionError if a part of one is wrong or misspelt
   */
  set(stubs: Stub | readonly Stub[]): void;
  list(): SetStub[];
  /** @throws ApiError 404 */
  remove(id: string): void;
  /** Removes all of them, including those of the options. */
  clear(): void;
}

/** Creates the canned answers of a test server. @param initial those after each reset */
export function createStubs(initial: readonly Stub[]) {
  let all: { id: string; stub: Stub; used: number }[] = [];
  const add = (stub: Stub) => {
    const id = stub.id ?? `${stub.method?.toUpperCase() ?? "*"} ${String(stub.path)}`;
    all = [...all.filter((one) => one.id !== id), { id, stub, used: 0 }];
  };
  const stubs: Stubs = {
    set: (given) => {
      readOptions("stubs.set", stubsOption, given);
      if (Array.isArray(given)) all = [];
      for (const stub of [given].flat() as Stub[]) add(stub);
    },
    list: () => all.map(({ id, stub, used }) => ({ ...stub, id, used })),
    remove: (id) => {
      if (!all.some((one) => one.id === id)) throw notFound("Stub");
      all = all.filter((one) => one.id !== id);
    },
    clear: () => {
      all = [];
    },
  };
  const reset = () => stubs.set(initial);
  reset();
  return {
    stubs,
    reset,
    /** The canned answer to a request, if there is one. */
    answer: ({ method, path }: Incoming): Reply | undefined => {
      const found = all.findLast(
        ({ stub }) =>
          (stub.method === undefined || stub.method.toUpperCase() === method) &&
          fitsPattern(stub.path, path),
      );
      if (!found) return undefined;
      found.used += 1;
      return replyOf(found.stub);
    },
  };
}

function replyOf({ status = 200, headers = {}, body }: Stub): Reply {
  const isText = typeof body === "string";
  const type = isText ? "text/plain" : "application/json";
  const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  return {
    status,
    headers: { ...(body !== undefined && { "content-type": type }), ...Object.fromEntries(named) },
    body: body === undefined ? null : isText ? body : JSON.stringify(body),
  };
}
