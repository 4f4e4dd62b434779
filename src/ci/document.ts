import {
  type Alias,
  Composer,
  type CST,
  Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  type Node,
  Parser,
  type Scalar,
  type SchemaOptions,
  type YAMLMap,
} from "yaml";
import { type Pace, STEPS, type Steps } from "../turns/pace.ts";
import {
  ConfigurationError,
  isList,
  isMapping,
  MAX_SIZE,
  type Mapping,
  NODE_SIZE,
  Reference,
  Sizes,
  TOO_BIG,
  type Value,
} from "./values.ts";

/** Maximum length of one file in characters. */
const MAX_LENGTH = 512 * 1024;
/** Maximum number of words, signs and spaces in one file. */
const MAX_LEXEMES = 100_000;
/** How many of these are read between two pauses. */
const SLICE = 50;
/** Maximum depth of lists and mappings in each other. */
const MAX_DEPTH = 100;

/**
 * Reads YAML 1.1, as GitLab does: `yes` and `on` are booleans, and of equal keys the last one counts.
 *
 * @throws ConfigurationError if the text is not YAML, not a mapping, too big, or too deep
 */
export function* readDocument(text: string): Steps<Mapping> {
  if (text.length > MAX_LENGTH) throw new ConfigurationError(TOO_BIG);
  const lineStarts = [0];
  const parser = new Parser((at) => lineStarts.push(at));
  const tokens: CST.Token[] = [];
  let lexemes = 0;
  for (const lexeme of lexer().lex(text)) {
    tokens.push(...parser.next(lexeme));
    lexemes += 1;
    // The composer calls itself for each level.
    const isTooDeep = parser.stack.length > MAX_DEPTH;
    if (isTooDeep || lexemes > MAX_LEXEMES) throw new ConfigurationError(TOO_BIG);
    if (lexemes % SLICE === 0) yield STEPS;
  }
  tokens.push(...parser.end());
  const composer = new Composer({
    version: "1.1",
    uniqueKeys: false,
    logLevel: "silent",
    customTags,
  });
  const documents: Document.Parsed[] = [];
  for (const token of tokens) {
    for (const part of partsOf(token)) {
      documents.push(...composer.next(part));
      yield STEPS;
    }
  }
  documents.push(...composer.end(true, text.length));
  const error = documents.flatMap((document) => document.errors)[0];
  if (error) {
    const line = lineStarts.findLastIndex((start) => start <= error.pos[0]);
    const column = error.pos[0] - (lineStarts[line] as number) + 1;
    throw new ConfigurationError(
      `(<unknown>): ${error.message} at line ${line + 1} column ${column}`,
    );
  }
  if (tokens.filter(({ type }) => type === "document").length > 1) {
    throw new ConfigurationError(TOO_MANY);
  }
  return yield* new Conversion().root(documents.map(({ contents }) => contents as Node | null));
}

/** Keys of a document that are composed between two pauses. */
const KEYS = 20;

/** A document as several with some of its keys each: the composer reads each in one go. */
function* partsOf(token: CST.Token): Generator<CST.Token> {
  const value = token.type === "document" ? token.value : undefined;
  if (token.type !== "document" || value?.type !== "block-map") return yield token;
  for (let from = 0; from < value.items.length; from += KEYS) {
    const items = value.items.slice(from, from + KEYS);
    const isLast = from + KEYS >= value.items.length;
    yield {
      ...token,
      ...(from > 0 && { start: [] }),
      ...(!isLast && { end: [] }),
      value: { ...value, offset: offsetOf(items[0]) ?? value.offset, items },
    };
  }
}

const offsetOf = (item: CST.BlockMap["items"][number] | undefined): number | undefined =>
  item?.start[0]?.offset ?? item?.key?.offset;

const TOO_MANY = "several YAML documents are not supported, unless the first one has only `spec`";

/**
 * Splits a file into its content and its header, a first document with `spec`. The content is not read yet: what its blocks
 * stand for may be any part of YAML.
 *
 * @throws ConfigurationError if the header is no YAML, or there are several documents without one
 */
export async function splitDocuments(
  text: string,
  pace: Pace,
): Promise<[content: string, header?: Mapping]> {
  const documents = text.split(/^---(?!\S)/m);
  const [first = "", second = "", ...others] = documents.filter(
    (one) => one.replace(/#.*/g, "").trim() !== "",
  );
  // Most files have no header, and are read once.
  if (!/^spec\s*:/m.test(first) || second === "") return [text];
  if (others.length > 0) throw new ConfigurationError("too many YAML documents (maximum is 2)");
  return [second, await pace.take(readDocument(first))];
}

/**
 * A lexer that asks for no indentation between brackets. YAML does, but libyaml, with which GitLab reads, doesn't, and many
 * configurations close a list further to the left. The library has no option for that.
 */
function lexer(): Lexer {
  const made = new Lexer();
  let least = 0;
  Object.defineProperty(made, "indentNext", {
    get: () => (Reflect.get(made, "flowLevel") > 0 ? 0 : least),
    set: (indentation: number) => {
      least = indentation;
    },
  });
  return made;
}

/** Tags of values that configurations don't have; what looks like one of them is a text. */
const REFUSED = new Set([
  "tag:yaml.org,2002:binary",
  "tag:yaml.org,2002:omap",
  "tag:yaml.org,2002:pairs",
  "tag:yaml.org,2002:set",
  "tag:yaml.org,2002:timestamp",
]);

const customTags: NonNullable<SchemaOptions["customTags"]> = (tags) =>
  tags.filter((tag) => typeof tag === "string" || !REFUSED.has(tag.tag));

/** Makes values of YAML's nodes. */
class Conversion {
  readonly #sizes = new Sizes();
  readonly #anchors = new Map<string, Value>();
  #merged = 0;

  /**
   * Makes a mapping of the contents of a document, which may be in several parts.
   *
   * @throws ConfigurationError if it is none
   */
  *root(parts: readonly (Node | null)[]): Steps<Mapping> {
    const mapping = new Map<string, Value>();
    for (const part of parts) {
      if (!isMap(part)) throw new ConfigurationError("Invalid configuration format");
      this.#fill(mapping, part);
      yield STEPS;
    }
    this.#sizes.of(mapping);
    return mapping;
  }

  convert(node: Node): Value {
    const value = this.#valueOf(node);
    if (!isAlias(node) && node.anchor) this.#anchors.set(node.anchor, value);
    this.#sizes.of(value);
    return value;
  }

  #valueOf(node: Node): Value {
    if (isAlias(node)) return this.#target(node);
    if (isScalar(node)) return scalarOf(node);
    if (isSeq(node)) {
      const items = node.items.map((item) => this.convert(item as Node));
      return node.tag === "!reference" ? referenceOf(items) : items;
    }
    return isMap(node) ? this.#mapping(node) : null;
  }

  #target({ source }: Alias): Value {
    const value = this.#anchors.get(source);
    if (value === undefined) throw new ConfigurationError(`Unknown alias: ${source}`);
    return value;
  }

  #mapping(node: YAMLMap): Mapping {
    const mapping = new Map<string, Value>();
    this.#fill(mapping, node);
    return mapping;
  }

  #fill(mapping: Map<string, Value>, node: YAMLMap): void {
    for (const pair of node.items) {
      const key = isScalar(pair.key) ? keyOf(pair.key) : undefined;
      if (key === undefined) throw new ConfigurationError("Invalid configuration format");
      const value = pair.value ? this.convert(pair.value as Node) : null;
      const isMerge = key === "<<" && (pair.key as Scalar).type === "PLAIN";
      if (isMerge) this.#merge(mapping, value);
      else mapping.set(key, value);
    }
  }

  /** Sets what a `<<` gives. Like in GitLab, it overrides keys before it. */
  #merge(mapping: Map<string, Value>, value: Value) {
    const sources = isList(value) ? value.toReversed() : [value];
    for (const source of sources) {
      if (!isMapping(source)) throw new ConfigurationError("Invalid configuration format");
      this.#merged += source.size;
      if (this.#merged > MAX_SIZE / NODE_SIZE) throw new ConfigurationError(TOO_BIG);
      for (const [key, one] of source) mapping.set(key, one);
    }
  }
}

function keyOf(key: Scalar): string {
  // `on` and the like would be booleans; as keys they are names. So are Ruby's symbols, such as `:script`.
  const text = textOf(key.source ?? String(key.value ?? ""));
  return key.type === "PLAIN" && /^:\w/.test(text) ? text.slice(1) : text;
}

/** A text without NUL, which neither names nor the environment of a job can have. @throws ConfigurationError */
function textOf(text: string): string {
  if (text.includes("\0")) throw new ConfigurationError("control characters are not allowed");
  return text;
}

function scalarOf({ value, source }: Scalar): Value {
  // Ruby reads `y` and `n` as texts.
  if (typeof value === "boolean") return /^[yn]$/i.test(source ?? "") ? (source as string) : value;
  if (typeof value === "number" && /^[^e]*$|^0x|\.\d*e[-+]\d+$/i.test(source ?? "")) {
    // Versions: `1.0` is no integer, and long numbers keep their digits.
    if (Number.isSafeInteger(value)) return source?.includes(".") ? `${value}.0` : value;
    return Number.isInteger(value) ? (source ?? String(value)) : value;
  }
  // An abbreviated SHA such as `1e3` is a text, too.
  return value === null || value === undefined ? null : textOf(source ?? String(value));
}

function referenceOf(items: readonly Value[]): Value {
  return new Reference(items.map(String));
}

/** Writes a value as YAML, without anchors. */
export function writeDocument(value: Mapping): string {
  const document = new Document(value, {
    version: "1.1",
    customTags,
    aliasDuplicateObjects: false,
  });
  return `---\n${document.toString({ lineWidth: 0, indentSeq: false })}`;
}
