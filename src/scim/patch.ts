import {
  type Attributes,
  type Element,
  type Leaf,
  type List,
  leavesOf,
  type Scalar,
  type Target,
  targetOf,
} from "./attributes.ts";
import { quoted, refused } from "./errors.ts";
import { type Filter, matches, parseFilteredPath } from "./filter.ts";
import {
  assign,
  elementOf,
  elementsIn,
  elementsOf,
  isObject,
  named,
  requireComplete,
  type Sent,
  scalarOf,
  setElements,
} from "./values.ts";

const OPERATIONS = ["add", "replace", "remove"] as const;
type Operation = (typeof OPERATIONS)[number];

/** Where an operation applies: an attribute, or values of a list and one of their parts. */
type Place =
  | Exclude<Target, { kind: "part" }>
  | {
      readonly kind: "values";
      readonly list: List;
      readonly filter: Filter | undefined;
      readonly part: Leaf | undefined;
    };

/**
 * Applies the operations of a PATCH (RFC 7644 §3.5.2) to a copy of a user, in their order, all or none.
 *
 * @param body the PatchOp message
 * @throws ApiError 400 `invalidSyntax`, `invalidPath`, `invalidFilter`, `invalidValue`, `noTarget` or `mutability`
 */
export function patched(user: Attributes, body: Sent): Attributes {
  const operations = named(body, "Operations");
  if (!Array.isArray(operations) || operations.length === 0) {
    throw refused("invalidSyntax", "Operations must be a list of operations.");
  }
  const attributes: Attributes = new Map(user);
  for (const operation of operations) apply(attributes, operation);
  requireComplete(attributes);
  return attributes;
}

function apply(attributes: Attributes, sent: unknown): void {
  if (!isObject(sent)) throw refused("invalidSyntax", "An operation must be an object.");
  const given = named(sent, "op");
  const op = OPERATIONS.find((one) => one === String(given).toLowerCase());
  if (!op) throw refused("invalidSyntax", "op must be add, replace or remove.");
  const path = named(sent, "path");
  const value = named(sent, "value");
  if (op !== "remove" && value === undefined) throw refused("invalidValue", `${op} needs a value.`);
  if (path !== undefined && path !== null && path !== "") {
    if (typeof path !== "string") throw refused("invalidPath", "A path must be a text.");
    const place = placeOf(path);
    if (!place) throw refused("invalidPath", `There is no attribute ${quoted(path)}.`);
    if (isReadOnly(place)) throw refused("mutability", `${quoted(path)} can't be changed.`);
    change(attributes, op, place, value);
    return;
  }
  if (op === "remove") throw refused("noTarget", "remove needs a path.");
  if (!isObject(value)) throw refused("invalidValue", `${op} without a path needs an object.`);
  applyAll(attributes, op, value);
}

/** An operation without a path: its value names attributes, also by paths. As in a POST, unknown ones are ignored. */
function applyAll(attributes: Attributes, op: Operation, value: Sent): void {
  for (const [path, own] of Object.entries(value)) {
    const place = placeOf(path);
    if (!place) continue;
    if (place.kind === "leaf" && place.isAlwaysReturned && own !== attributes.get(place.key)) {
      throw refused("mutability", `${quoted(path)} can't be changed.`);
    }
    if (!isReadOnly(place)) change(attributes, op, place, own);
  }
}

/** What a path names; `undefined` if nothing. @throws ApiError 400 for a malformed filter */
function placeOf(path: string): Place | undefined {
  if (path.includes("[")) {
    const found = parseFilteredPath(path);
    return found && { kind: "values", ...found };
  }
  const target = targetOf(path.trim());
  if (target?.kind !== "part") return target;
  return { kind: "values", list: target.list, filter: undefined, part: target.leaf };
}

function isReadOnly(place: Place): boolean {
  return "isReadOnly" in place && place.isReadOnly === true;
}

function change(attributes: Attributes, op: Operation, place: Place, value: unknown): void {
  if (op === "remove") remove(attributes, place);
  else if (place.kind === "values") changeValues(attributes, op, place, value);
  else if (place.kind === "list" && op === "add") {
    addElements(attributes, place, elementsOf(place, value));
  } else assign(attributes, place, value);
}

function remove(attributes: Attributes, place: Place): void {
  if (place.kind === "values") {
    const { list, filter, part } = place;
    const left = elementsIn(attributes, list).flatMap((one) =>
      filter && !matches(filter, one) ? [one] : part ? [withPart(one, part, undefined)] : [],
    );
    setElements(attributes, list, left);
    return;
  }
  const leaves = place.kind === "list" ? [] : leavesOf([place]);
  const required = leaves.find((leaf) => leaf.isRequired || leaf.key === "active");
  if (required) throw refused("mutability", `${required.key} can't be removed.`);
  for (const { key } of [...leaves, place]) attributes.delete(key);
}

/** Adds values to a list. One that differs only in what is not said of it is completed, so that nothing is listed twice. */
function addElements(attributes: Attributes, list: List, added: readonly Element[]): void {
  const all = [...elementsIn(attributes, list)];
  const changed: Element[] = [];
  for (const one of added) {
    const known = all.findIndex((other) => isSame(list, one, other));
    const element = known < 0 ? one : { ...all[known], ...one };
    if (known < 0) all.push(element);
    else all[known] = element;
    changed.push(element);
  }
  setElements(attributes, list, withOnePrimary(all, changed));
}

/** Whether two values of a list are the same apart from whether they are primary and how they are displayed. */
function isSame({ parts }: List, one: Element, other: Element): boolean {
  return parts.every(
    ({ name }) => name === "primary" || name === "display" || one[name] === other[name],
  );
}

function changeValues(
  attributes: Attributes,
  op: "add" | "replace",
  { list, filter, part }: Extract<Place, { kind: "values" }>,
  value: unknown,
): void {
  const edited = (one: Element): Element => {
    if (part) return withPart(one, part, scalarOf(part, value));
    const given = elementOf(list, value);
    return op === "add" || !isObject(value) ? { ...one, ...given } : given;
  };
  const changed: Element[] = [];
  const all = elementsIn(attributes, list).map((one) => {
    if (filter && !matches(filter, one)) return one;
    const element = edited(one);
    changed.push(element);
    return element;
  });
  if (changed.length === 0) {
    if (op === "replace" && filter) {
      throw refused("noTarget", `No value of ${list.name} matches the filter of the path.`);
    }
    const created = edited(filter ? described(filter) : {});
    changed.push(created);
    all.push(created);
  }
  setElements(attributes, list, withOnePrimary(all, changed));
}

/** What a filter says about values that match it, so that one can be made: `type` is `work` for `type eq "work"`. */
function described(filter: Filter): Element {
  if (filter.kind === "and") return Object.assign({}, ...filter.of.map(described));
  if (filter.kind !== "compare" || filter.operator !== "eq") return {};
  return { [filter.leaf.name]: filter.value };
}

function withPart(element: Element, part: Leaf, value: Scalar | undefined): Element {
  const { [part.name]: _, ...others } = element;
  return value === undefined ? others : { ...others, [part.name]: value };
}

/** If one of the changed values is primary now, the others are no longer (RFC 7644 §3.5.2). */
function withOnePrimary(all: readonly Element[], changed: readonly Element[]): Element[] {
  if (!changed.some(({ primary }) => primary === true)) return [...all];
  return all.map((one) =>
    one["primary"] === true && !changed.includes(one) ? { ...one, primary: false } : one,
  );
}

/** Whether two users are the same, attribute by attribute. */
export function areEqual(one: Attributes, other: Attributes): boolean {
  if (one.size !== other.size) return false;
  for (const [key, value] of one) {
    const found = other.get(key);
    const isEqual =
      Array.isArray(value) && Array.isArray(found)
        ? areSameElements(value, found)
        : value === found;
    if (!isEqual) return false;
  }
  return true;
}

function areSameElements(some: readonly Element[], others: readonly Element[]): boolean {
  const written = (elements: readonly Element[]) =>
    JSON.stringify(elements.map((one) => Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1))));
  return written(some) === written(others);
}
