import type { StreamParser, StringStream } from "@codemirror/streamparser";
import type { Budget } from "../turns/budget.ts";
import { languageOf } from "./languages.ts";
import { escaped } from "./markup.ts";

type Parser = StreamParser<unknown>;
type Loading = () => Promise<object>;

const c: Loading = () => import("@codemirror/legacy-modes/mode/clike");
const css: Loading = () => import("@codemirror/legacy-modes/mode/css");
const js: Loading = () => import("@codemirror/legacy-modes/mode/javascript");
const ml: Loading = () => import("@codemirror/legacy-modes/mode/mllike");
const xml: Loading = () => import("@codemirror/legacy-modes/mode/xml");
const python: Loading = () => import("@codemirror/legacy-modes/mode/python");
const sass: Loading = () => import("@codemirror/legacy-modes/mode/sass");

/** What reads the words of a language, by the name that linguist or rouge has for it: its module, and its name there. */
const PARSERS = new Map<string, readonly [Loading, string]>([
  ["c", [c, "c"]],
  ["c#", [c, "csharp"]],
  ["csharp", [c, "csharp"]],
  ["c++", [c, "cpp"]],
  ["cpp", [c, "cpp"]],
  ["clojure", [() => import("@codemirror/legacy-modes/mode/clojure"), "clojure"]],
  ["cmake", [() => import("@codemirror/legacy-modes/mode/cmake"), "cmake"]],
  ["css", [css, "css"]],
  ["cython", [python, "cython"]],
  ["dart", [c, "dart"]],
  ["diff", [() => import("@codemirror/legacy-modes/mode/diff"), "diff"]],
  ["dockerfile", [() => import("@codemirror/legacy-modes/mode/dockerfile"), "dockerFile"]],
  ["erlang", [() => import("@codemirror/legacy-modes/mode/erlang"), "erlang"]],
  ["f#", [ml, "fSharp"]],
  ["fsharp", [ml, "fSharp"]],
  ["go", [() => import("@codemirror/legacy-modes/mode/go"), "go"]],
  ["groovy", [() => import("@codemirror/legacy-modes/mode/groovy"), "groovy"]],
  ["haskell", [() => import("@codemirror/legacy-modes/mode/haskell"), "haskell"]],
  ["html", [xml, "html"]],
  ["ini", [() => import("@codemirror/legacy-modes/mode/properties"), "properties"]],
  ["java", [c, "java"]],
  ["javascript", [js, "javascript"]],
  ["json", [js, "json"]],
  ["jsx", [js, "javascript"]],
  ["julia", [() => import("@codemirror/legacy-modes/mode/julia"), "julia"]],
  ["kotlin", [c, "kotlin"]],
  ["latex", [() => import("@codemirror/legacy-modes/mode/stex"), "stex"]],
  ["less", [css, "less"]],
  ["lua", [() => import("@codemirror/legacy-modes/mode/lua"), "lua"]],
  ["nginx", [() => import("@codemirror/legacy-modes/mode/nginx"), "nginx"]],
  ["objective-c", [c, "objectiveC"]],
  ["objective-c++", [c, "objectiveCpp"]],
  ["objective_c", [c, "objectiveC"]],
  ["ocaml", [ml, "oCaml"]],
  ["perl", [() => import("@codemirror/legacy-modes/mode/perl"), "perl"]],
  ["powershell", [() => import("@codemirror/legacy-modes/mode/powershell"), "powerShell"]],
  ["protobuf", [() => import("@codemirror/legacy-modes/mode/protobuf"), "protobuf"]],
  ["python", [python, "python"]],
  ["r", [() => import("@codemirror/legacy-modes/mode/r"), "r"]],
  ["ruby", [() => import("@codemirror/legacy-modes/mode/ruby"), "ruby"]],
  ["rust", [() => import("@codemirror/legacy-modes/mode/rust"), "rust"]],
  ["sass", [sass, "sass"]],
  ["scala", [c, "scala"]],
  ["scss", [css, "sCSS"]],
  ["shell", [() => import("@codemirror/legacy-modes/mode/shell"), "shell"]],
  ["sql", [() => import("@codemirror/legacy-modes/mode/sql"), "standardSQL"]],
  ["swift", [() => import("@codemirror/legacy-modes/mode/swift"), "swift"]],
  ["tex", [() => import("@codemirror/legacy-modes/mode/stex"), "stex"]],
  ["toml", [() => import("@codemirror/legacy-modes/mode/toml"), "toml"]],
  ["tsx", [js, "typescript"]],
  ["typescript", [js, "typescript"]],
  ["xml", [xml, "xml"]],
  ["yaml", [() => import("@codemirror/legacy-modes/mode/yaml"), "yaml"]],
]);

/** The classes of rouge, by which GitLab colours code, by what the parsers call words. */
const CLASSES: Readonly<Record<string, string>> = {
  ...{ comment: "c", quote: "c", hr: "c", meta: "cp", processingInstruction: "cp" },
  ...{ keyword: "k", controlKeyword: "k", modifier: "k", self: "k" },
  ...{ string: "s", character: "s", regexp: "s", url: "s", link: "s" },
  ...{ number: "m", atom: "m", bool: "m", null: "m", unit: "m", color: "m" },
  ...{ def: "nf", macroName: "nf", className: "nf" },
  ...{ type: "kt", typeName: "kt", builtin: "kt", namespace: "kt", standard: "kt" },
  ...{ tag: "nt", tagName: "nt" },
  ...{ attribute: "na", attributeName: "na", property: "na", propertyName: "na" },
  ...{ inserted: "gi", deleted: "gd" },
};

/** Languages of data, which are not counted among those of a project, by the ends of the names of their files. */
const DATA: Readonly<Record<string, string>> = {
  ...{ json: "json", webmanifest: "json", yaml: "yaml", yml: "yaml", toml: "toml", xml: "xml" },
  ...{ svg: "xml", ini: "ini", properties: "ini", sql: "sql", proto: "protobuf" },
  ...{ diff: "diff", patch: "diff", tex: "tex" },
};

/** A part of a line, with the class of its colour. */
export interface Piece {
  readonly text: string;
  readonly kind: string | undefined;
}

/** As many characters and lines of a text are coloured, and as many characters of a line. */
const MOST_CHARACTERS = 65_536;
const MOST_LINES = 3000;
const LONGEST_LINE = 1000;
/** A parser that takes so many steps without taking a character has come to nothing. */
const MOST_STEPS = 20;

/** Colours the lines of a text, one after the other. */
export class Colors {
  readonly #parser: Parser;
  readonly #Stream: typeof StringStream;
  readonly #budget: Budget;
  #state: unknown;
  #lines = 0;
  #characters = 0;

  constructor([parser, Stream]: Loaded, budget: Budget) {
    this.#parser = parser;
    this.#Stream = Stream;
    this.#budget = budget;
    this.again();
  }

  /** Begins anew, as in another place of the file. */
  again(): void {
    this.#state = this.#parser.startState?.(INDENT) ?? true;
  }

  /**
   * The next line in its parts. It is one without a colour if it is too long, or if too much came before it: a parser looks back
   * as far as brackets are open, so that what it does for a line may take as long as the text is.
   */
  line(text: string): readonly Piece[] {
    this.#lines += 1;
    this.#characters += text.length;
    const isLeftOut =
      text.length > LONGEST_LINE ||
      this.#lines > MOST_LINES ||
      this.#characters > MOST_CHARACTERS ||
      !this.#budget.spend("coloring", 1);
    if (isLeftOut) return [{ text, kind: undefined }];
    const before = process.cpuUsage();
    try {
      return this.#read(text);
    } catch {
      // A parser that fails in a line can't go on after it.
      this.#lines = MOST_LINES;
      return [{ text, kind: undefined }];
    } finally {
      const { user, system } = process.cpuUsage(before);
      this.#budget.charge("coloring", user + system);
    }
  }

  #read(text: string): Piece[] {
    const [parser, state] = [this.#parser, this.#state];
    if (text === "") parser.blankLine?.(state, INDENT);
    const pieces: Piece[] = [];
    const stream = new this.#Stream(text, TAB, INDENT);
    for (let steps = 0; !stream.eol(); steps++) {
      stream.start = stream.pos;
      const kind = kindOf(parser.token(stream, state));
      if (stream.pos === stream.start) {
        if (steps < MOST_STEPS) continue;
        stream.skipToEnd();
      }
      steps = 0;
      const piece = text.slice(stream.start, stream.pos);
      const last = pieces.at(-1);
      if (last?.kind === kind && last) pieces.splice(-1, 1, { text: last.text + piece, kind });
      else pieces.push({ text: piece, kind });
    }
    return pieces;
  }
}

/** What colours texts in the language of a file, by its name; `undefined` if that is not known. */
export async function colorsOfFile(path: string, budget: Budget): Promise<Colors | undefined> {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const [, end = ""] = /\.(\w+)$/.exec(name) ?? [];
  const loaded = await load(languageOf(name) ?? DATA[end.toLowerCase()] ?? "");
  return loaded && new Colors(loaded, budget);
}

type Loaded = readonly [Parser, typeof StringStream];

/** @param language linguist's or rouge's name for it @returns `undefined` if it is not known */
async function load(language: string): Promise<Loaded | undefined> {
  const found = PARSERS.get(language.toLowerCase());
  if (!found) return undefined;
  const [loading, name] = found;
  const streams = import("@codemirror/streamparser");
  const [module, { StringStream }] = await Promise.all([loading(), streams]);
  return [(module as Readonly<Record<string, Parser>>)[name] as Parser, StringStream];
}

/** Colours a block of code. @param language rouge's name for it @returns its lines as HTML, if the language is known */
export type ColorBlock = (language: string, lines: readonly string[]) => string[] | undefined;

/**
 * What colours the blocks of code of a text in Markdown, in their languages.
 *
 * @param languages that the text may have: names of them, of which at most ten are looked for
 */
export async function colorBlocks(
  languages: ReadonlySet<string>,
  budget: Budget,
): Promise<ColorBlock> {
  const known = new Map<string, Loaded>();
  for (const language of [...languages].slice(0, 10)) {
    const loaded = await load(language);
    if (loaded) known.set(language, loaded);
  }
  return (language, lines) => {
    const loaded = known.get(language);
    const colors = loaded && new Colors(loaded, budget);
    return colors && lines.map((line) => coloredHtml(colors.line(line)));
  };
}

/** Columns of a level of indentation, which parsers ask for; colours do not depend on it. */
const INDENT = 2;
const TAB = 8;

/** The class of a word. @param said by a parser: what it is, and more about that */
function kindOf(said: string | null | undefined): string | undefined {
  if (!said) return undefined;
  const [first = ""] = said.split(/[ .]/, 1);
  return CLASSES[first];
}

/** The parts of a line as HTML. */
export const coloredHtml = (pieces: readonly Piece[]): string =>
  pieces
    .map(({ text, kind }) =>
      kind === undefined ? escaped(text) : `<span class="${kind}">${escaped(text)}</span>`,
    )
    .join("");
