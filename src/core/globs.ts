/** One place of a segment's pattern: a character, a set of characters, any character, or any number of characters. */
type Place = string | CharacterSet | typeof ANY | typeof STAR;

interface CharacterSet {
  readonly negated: boolean;
  /** Pairs of the first and the last character of each range. */
  readonly ranges: readonly (readonly [first: string, last: string])[];
}

const ANY = Symbol("any character");
const STAR = Symbol("any number of characters");
/** Any number of folders. */
const FOLDERS = Symbol("any number of folders");

/** What one name in a path must be: a text, or what a pattern fits. */
type Segment = string | readonly Place[] | typeof FOLDERS;

/**
 * A pattern for paths, as Git's `wildmatch` reads it: `*` and `?` stand for characters of one name, `[a-z]` for one of a
 * set, a name `**` before a slash for any number of folders, and a backslash takes away a character's meaning.
 */
export class Glob {
  readonly #segments: readonly Segment[];

  /** @param pattern with a slash before each name, as in `/docs/*.md` */
  constructor(pattern: string) {
    // A slash after a backslash separates names, too, since no name contains one.
    const names = pattern.slice(1).split("/");
    this.#segments = names.map((name, at) =>
      name === "**" && at < names.length - 1 ? FOLDERS : segmentOf(name),
    );
  }

  /**
   * Whether it fits a path. Takes at most time that grows with the length of the path times that of the pattern.
   *
   * @param names the names in the path
   */
  fits(names: readonly string[]): boolean {
    return fitsInOrder(
      this.#segments,
      names,
      (segment) => segment === FOLDERS,
      (segment, name) => fitsName(segment as Exclude<Segment, typeof FOLDERS>, name),
    );
  }
}

function segmentOf(name: string): string | readonly Place[] {
  const places: Place[] = [];
  let at = 0;
  while (at < name.length) {
    const character = name[at] as string;
    const set = character === "[" ? setAt(name, at) : undefined;
    const isEscape = character === "\\" && at + 1 < name.length;
    if (set) places.push(set.set);
    else if (isEscape) places.push(name[at + 1] as string);
    else if (character === "?") places.push(ANY);
    else if (character !== "*") places.push(character);
    else if (places.at(-1) !== STAR) places.push(STAR);
    at = set ? set.end + 1 : at + (isEscape ? 2 : 1);
  }
  return places.every((place) => typeof place === "string") ? places.join("") : places;
}

/** The set of characters that begins in a name, and where it ends; `undefined` if it does not end. */
function setAt(name: string, start: number): { set: CharacterSet; end: number } | undefined {
  const negated = name[start + 1] === "^" || name[start + 1] === "!";
  const first = start + (negated ? 2 : 1);
  const end = name.indexOf("]", first + 1);
  if (end < 0) return undefined;
  const ranges: [string, string][] = [];
  for (let at = first; at < end; at += 1) {
    const from = name[at] as string;
    const isRange = name[at + 1] === "-" && at + 2 < end;
    ranges.push([from, isRange ? (name[at + 2] as string) : from]);
    if (isRange) at += 2;
  }
  return { set: { negated, ranges }, end };
}

function fitsName(segment: string | readonly Place[], name: string): boolean {
  if (typeof segment === "string") return segment === name;
  return fitsInOrder(segment, name, (place) => place === STAR, fitsCharacter);
}

function fitsCharacter(place: Place, character: string): boolean {
  if (place === ANY) return true;
  if (typeof place !== "object") return place === character;
  const isIn = place.ranges.some(([first, last]) => character >= first && character <= last);
  return isIn !== place.negated;
}

/**
 * Whether a pattern fits what is given, part by part. After a failure, only the last wildcard is tried with more: those
 * before it need no other place.
 */
function fitsInOrder<P>(
  pattern: ArrayLike<P>,
  given: ArrayLike<string>,
  isWildcard: (part: P) => boolean,
  fits: (part: P, one: string) => boolean,
): boolean {
  let part = 0;
  let at = 0;
  let wildcard = -1;
  let tried = 0;
  while (at < given.length) {
    if (part < pattern.length && isWildcard(pattern[part] as P)) {
      wildcard = part;
      tried = at;
      part += 1;
    } else if (part < pattern.length && fits(pattern[part] as P, given[at] as string)) {
      part += 1;
      at += 1;
    } else if (wildcard >= 0) {
      tried += 1;
      at = tried;
      part = wildcard + 1;
    } else return false;
  }
  while (part < pattern.length && isWildcard(pattern[part] as P)) part += 1;
  return part === pattern.length;
}
