import { type Leaf, type List, leavesOf, partOf, type Scalar, targetOf } from "./attributes.ts";
import { quoted, refused, type ScimType } from "./errors.ts";

const COMPARISONS = ["eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le"] as const;
/** An operator of RFC 7644 §3.4.2.2 that compares with a value. */
export type Comparison = (typeof COMPARISONS)[number];

/** A parsed filter. */
export type Filter =
  | { readonly kind: "and" | "or"; readonly of: readonly Filter[] }
  | { readonly kind: "not"; readonly of: Filter }
  | {
      readonly kind: "compare";
      readonly leaf: Leaf;
      readonly operator: Comparison;
      readonly value: Scalar;
    }
  | { readonly kind: "assigned"; readonly leaf: Leaf }
  /** One value of a list matches, or there is any. */
  | { readonly kind: "any"; readonly list: List; readonly of: Filter | undefined };

/** A path of a change (RFC 7644 §3.5.2), whose target is a list if it has a filter. */
export interface FilteredPath {
  /** The attribute before the filter. */
  readonly list: List;
  readonly filter: Filter;
  /** The sub-attribute after the filter. */
  readonly part: Leaf | undefined;
}

/** Maximum characters of a filter. */
export const MAX_FILTER_LENGTH = 10_000;
/** Maximum words, texts and brackets of a filter. */
const MAX_TOKENS = 400;
/** Maximum brackets within each other. */
const MAX_DEPTH = 50;

type Token = { readonly kind: "(" | ")" | "[" | "]" | "word" | "text"; readonly text: string };

const invalid = (why: string) => refused("invalidFilter", `The filter is invalid: ${why}.`);

/** Splits a filter in linear time. */
function tokensOf(text: string): Token[] {
  if (text.length > MAX_FILTER_LENGTH) throw invalid("it is too long");
  const tokens: Token[] = [];
  const word = /[\w$:.+-]+/y;
  let at = 0;
  while (at < text.length) {
    const character = text[at] as string;
    if (character === " ") {
      at += 1;
      continue;
    }
    if (tokens.length === MAX_TOKENS) throw invalid("it has too many words");
    if (character === "(" || character === ")" || character === "[" || character === "]") {
      tokens.push({ kind: character, text: character });
      at += 1;
      continue;
    }
    word.lastIndex = at;
    const end = character === '"' ? endOfText(text, at) : word.test(text) ? word.lastIndex : at;
    if (end === at) throw invalid(`${quoted(character)} is not expected`);
    tokens.push({ kind: character === '"' ? "text" : "word", text: text.slice(at, end) });
    at = end;
  }
  return tokens;
}

/** Where the text that begins at a quotation mark ends. */
function endOfText(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  if (at >= text.length) throw invalid("a text is not closed");
  return at + 1;
}

/**
 * Parses a filter (RFC 7644 §3.4.2.2).
 *
 * @throws ApiError 400 `invalidFilter`
 */
export function parseFilter(text: string): Filter {
  const parser = new Parser(tokensOf(text));
  const filter = parser.alternatives(undefined);
  parser.requireEnd();
  return filter;
}

/**
 * Parses a path with a filter, such as `emails[type eq "work"].value`.
 *
 * @param text contains a bracket
 * @returns `undefined` if there is no list with the name before it
 * @throws ApiError 400 `invalidPath`, or `invalidFilter` for what is within the brackets
 */
export function parseFilteredPath(text: string): FilteredPath | undefined {
  const target = targetOf(text.slice(0, text.indexOf("[")).trim());
  if (target?.kind !== "list") return undefined;
  const parser = new Parser(tokensOf(text.slice(text.indexOf("["))));
  const found = parser.elements(target, "invalidPath");
  parser.requireEnd();
  return { list: target, ...found };
}

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  requireEnd(): void {
    const left = this.#tokens[this.#at];
    if (left) throw invalid(`${quoted(left.text)} is not expected`);
  }

  /** @param list within the brackets of a list, whose sub-attributes are named; else the user's attributes */
  alternatives(list: List | undefined): Filter {
    return this.#joined("or", () => this.#joined("and", () => this.#single(list)));
  }

  /** A filter in brackets, and the sub-attribute that may follow them. @param scimType for one that does not exist */
  elements(list: List, scimType: ScimType): { filter: Filter; part: Leaf | undefined } {
    const filter = this.#within("[", "]", list);
    const next = this.#tokens[this.#at];
    if (next?.kind !== "word" || !next.text.startsWith(".")) return { filter, part: undefined };
    this.#at += 1;
    const part = partOf(list, next.text.slice(1));
    if (!part) throw refused(scimType, `${list.name} has no sub-attribute ${quoted(next.text)}.`);
    return { filter, part };
  }

  #joined(kind: "and" | "or", one: () => Filter): Filter {
    const first = one();
    const of = [first];
    while (this.#isWord(kind)) {
      this.#at += 1;
      of.push(one());
    }
    return of.length === 1 ? first : { kind, of };
  }

  #single(list: List | undefined): Filter {
    if (this.#tokens[this.#at]?.kind === "(") return this.#within("(", ")", list);
    if (this.#isWord("not")) {
      this.#at += 1;
      return { kind: "not", of: this.#within("(", ")", list) };
    }
    const path = this.#next("word").text;
    return list ? this.#ofPart(list, path) : this.#ofAttribute(path);
  }

  #within(open: "(" | "[", close: ")" | "]", list: List | undefined): Filter {
    this.#next(open);
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw invalid("its brackets are nested too deeply");
    const filter = this.alternatives(list);
    this.#depth -= 1;
    this.#next(close);
    return filter;
  }

  #ofPart(list: List, name: string): Filter {
    const part = partOf(list, name);
    if (!part) throw invalid(`${list.name} has no sub-attribute ${quoted(name)}`);
    return this.#isPresent() ? { kind: "assigned", leaf: part } : this.#compared(part);
  }

  #ofAttribute(path: string): Filter {
    const target = targetOf(path);
    if (!target) throw invalid(`there is no attribute ${quoted(path)}`);
    if (target.kind === "list" && this.#tokens[this.#at]?.kind === "[") {
      const { filter, part } = this.elements(target, "invalidFilter");
      const more =
        part &&
        (this.#isPresent() ? ({ kind: "assigned", leaf: part } as const) : this.#compared(part));
      return { kind: "any", list: target, of: more ? { kind: "and", of: [filter, more] } : filter };
    }
    if (this.#isPresent()) {
      switch (target.kind) {
        case "list":
          return { kind: "any", list: target, of: undefined };
        case "part":
          return { kind: "any", list: target.list, of: { kind: "assigned", leaf: target.leaf } };
        default:
          return { kind: "or", of: leavesOf([target]).map((leaf) => ({ kind: "assigned", leaf })) };
      }
    }
    if (target.kind === "leaf") return this.#compared(target);
    if (target.kind === "part") {
      return { kind: "any", list: target.list, of: this.#compared(target.leaf) };
    }
    const value = target.kind === "list" ? partOf(target, "value") : undefined;
    if (target.kind !== "list" || !value) throw invalid(`${quoted(path)} has no value to compare`);
    return { kind: "any", list: target, of: this.#compared(value) };
  }

  #isPresent(): boolean {
    const isPresent = this.#isWord("pr");
    if (isPresent) this.#at += 1;
    return isPresent;
  }

  #compared(leaf: Leaf): Filter {
    const word = this.#next("word").text;
    const operator = COMPARISONS.find((one) => one === word.toLowerCase());
    if (!operator) throw invalid(`there is no operator ${quoted(word)}`);
    return compared(leaf, operator, this.#value());
  }

  #value(): string | boolean | null {
    const token = this.#tokens[this.#at];
    this.#at += 1;
    if (token?.kind === "text") return textOf(token.text);
    switch (token?.kind === "word" ? token.text.toLowerCase() : undefined) {
      case "true":
        return true;
      case "false":
        return false;
      case "null":
        return null;
      default:
        throw invalid("an operator is followed by no value, or by one of another type");
    }
  }

  #isWord(word: string): boolean {
    const token = this.#tokens[this.#at];
    return token?.kind === "word" && token.text.toLowerCase() === word;
  }

  #next(kind: Token["kind"]): Token {
    const token = this.#tokens[this.#at];
    if (token?.kind !== kind) {
      throw invalid(token ? `${quoted(token.text)} is not expected` : "it ends too early");
    }
    this.#at += 1;
    return token;
  }
}

/** Texts are JSON; PostgreSQL can hold neither NUL nor lone surrogates. */
function textOf(json: string): string {
  let text: string;
  try {
    text = JSON.parse(json) as string;
  } catch {
    throw invalid("a text has an invalid escape");
  }
  if (text.includes("\0") || !text.isWellFormed()) throw invalid("a text has an invalid character");
  return text;
}

function compared(leaf: Leaf, operator: Comparison, value: string | boolean | null): Filter {
  if (leaf.sql === undefined) throw invalid(`${leaf.key} can't be filtered by`);
  const refuse = () =>
    invalid(`${leaf.key} (${leaf.type}) can't be compared with ${operator} to that`);
  if (value === null) {
    const assigned = { kind: "assigned", leaf } as const;
    if (operator === "eq") return { kind: "not", of: assigned };
    if (operator === "ne") return assigned;
    throw refuse();
  }
  if (leaf.type === "boolean") {
    const flag = booleanOf(value);
    if (flag === undefined || (operator !== "eq" && operator !== "ne")) throw refuse();
    return { kind: "compare", leaf, operator, value: flag };
  }
  if (typeof value !== "string") throw refuse();
  if (leaf.type !== "dateTime") return { kind: "compare", leaf, operator, value };
  const instant = instantOf(value);
  if (instant === undefined || operator === "co" || operator === "sw" || operator === "ew")
    throw refuse();
  return { kind: "compare", leaf, operator, value: instant };
}

/** A boolean, also as the text that Microsoft Entra sends; `undefined` for anything else. */
export function booleanOf(value: unknown): boolean | undefined {
  if (typeof value === "boolean") return value;
  switch (typeof value === "string" ? value.toLowerCase() : undefined) {
    case "true":
      return true;
    case "false":
      return false;
    default:
      return undefined;
  }
}

/** An instant of RFC 7643 §2.3.5 in epoch milliseconds; without a zone it is UTC. */
function instantOf(text: string): number | undefined {
  const parts = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?)(Z|[+-]\d\d:\d\d)?$/i.exec(text);
  const at = parts ? Date.parse(`${parts[1]}${parts[2] ?? "Z"}`.toUpperCase()) : Number.NaN;
  return Number.isNaN(at) ? undefined : at;
}

/** Lowers the letters A to Z, as `lower` does in SQL on both engines. */
export function folded(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Whether one value of a list matches a filter on its sub-attributes. */
export function matches(filter: Filter, element: Readonly<Record<string, Scalar>>): boolean {
  switch (filter.kind) {
    case "and":
      return filter.of.every((one) => matches(one, element));
    case "or":
      return filter.of.some((one) => matches(one, element));
    case "not":
      return !matches(filter.of, element);
    case "assigned":
      return element[filter.leaf.name] !== undefined;
    case "compare":
      return holds(filter.operator, element[filter.leaf.name], filter.value, filter.leaf);
    case "any":
      // The grammar has no lists within lists.
      return false;
  }
}

function holds(
  operator: Comparison,
  found: Scalar | undefined,
  wanted: Scalar,
  leaf: Leaf,
): boolean {
  const fold = (one: Scalar) => (typeof one === "string" && !leaf.caseExact ? folded(one) : one);
  if (found === undefined) return operator === "ne";
  const [left, right] = [fold(found), fold(wanted)];
  switch (operator) {
    case "eq":
      return left === right;
    case "ne":
      return left !== right;
    case "co":
      return String(left).includes(String(right));
    case "sw":
      return String(left).startsWith(String(right));
    case "ew":
      return String(left).endsWith(String(right));
    case "gt":
      return left > right;
    case "ge":
      return left >= right;
    case "lt":
      return left < right;
    case "le":
      return left <= right;
  }
}
