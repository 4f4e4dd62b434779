import {
  type Attributes,
  type Complex,
  type Element,
  LEAVES,
  type Leaf,
  LISTS,
  type List,
  leavesOf,
  MAX_ELEMENTS,
  partOf,
  type Scalar,
  type Target,
  targetOf,
} from "./attributes.ts";
import { refused } from "./errors.ts";
import { booleanOf } from "./filter.ts";

/** A JSON object of a client. */
export type Sent = Readonly<Record<string, unknown>>;

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is Sent {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value of a name in any case. */
export function named(sent: Sent, name: string): unknown {
  const wanted = name.toLowerCase();
  for (const key of Object.keys(sent)) if (key.toLowerCase() === wanted) return sent[key];
  return undefined;
}

const isNothing = (value: unknown) =>
  value === null ||
  value === undefined ||
  value === "" ||
  (Array.isArray(value) && value.length === 0);

/**
 * Reads the value of a simple attribute. Single values may come in a list or as an object with a `value`, as some
 * clients send them.
 *
 * @returns `undefined` for no value: `null`, an empty list, or an empty text
 * @throws ApiError 400 `invalidValue`
 */
export function scalarOf(leaf: Leaf, given: unknown): Scalar | undefined {
  const single = Array.isArray(given) && given.length === 1 ? given[0] : given;
  const refuse = (why: string) => refused("invalidValue", `${leaf.key} ${why}.`);
  const value = isObject(single) ? named(single, "value") : single;
  if (isObject(single) && value === undefined) throw refuse("has no value");
  if (isNothing(value)) return undefined;
  if (leaf.type === "boolean") {
    const flag = booleanOf(value);
    if (flag === undefined) throw refuse("must be true or false");
    return flag;
  }
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") {
    throw refuse("must be a text");
  }
  const text = String(value);
  if (text.length > leaf.maxLength)
    throw refuse(`is too long (maximum is ${leaf.maxLength} characters)`);
  // PostgreSQL can hold neither.
  if (text.includes("\0") || !text.isWellFormed()) throw refuse("has an invalid character");
  if (leaf.isRequired && text.trim() === "") throw refuse("can't be blank");
  return text;
}

/**
 * Reads one value of a list: an object, or its `value` alone.
 *
 * @throws ApiError 400 `invalidValue`
 */
export function elementOf(list: List, given: unknown): Element {
  if (!isObject(given)) {
    const value = partOf(list, "value");
    if (!value) throw refused("invalidValue", `A value of ${list.name} must be an object.`);
    const scalar = scalarOf(value, given);
    return scalar === undefined ? {} : { value: scalar };
  }
  const element: Record<string, Scalar> = {};
  for (const [name, value] of Object.entries(given)) {
    const part = partOf(list, name);
    const scalar = part && scalarOf(part, value);
    if (part && scalar !== undefined) element[part.name] = scalar;
  }
  return element;
}

/** Reads the values of a list; one alone may come without its list. @throws ApiError 400 `invalidValue` */
export function elementsOf(list: List, given: unknown): Element[] {
  if (isNothing(given)) return [];
  const all = Array.isArray(given) ? given : [given];
  if (all.length > MAX_ELEMENTS) throw tooMany();
  return all.map((one) => elementOf(list, one));
}

const tooMany = () =>
  refused("invalidValue", `A user can have ${MAX_ELEMENTS} values of multi-valued attributes.`);

/** Sub-attributes that say nothing without another one. */
const ABOUT_OTHERS = new Set(["type", "primary", "display"]);

/** Sets the values of a list, without those that say nothing. @throws ApiError 400 `invalidValue` */
export function setElements(
  attributes: Attributes,
  list: List,
  elements: readonly Element[],
): void {
  const filled = elements.filter((one) => Object.keys(one).some((name) => !ABOUT_OTHERS.has(name)));
  if (filled.length > MAX_ELEMENTS) throw tooMany();
  if (filled.filter(({ primary }) => primary === true).length > 1) {
    throw refused("invalidValue", `Only one value of ${list.name} can be primary.`);
  }
  if (filled.length === 0) attributes.delete(list.key);
  else attributes.set(list.key, filled);
}

/** Sets a simple attribute; without a value it is removed. */
function setScalar(attributes: Attributes, leaf: Leaf, value: Scalar | undefined): void {
  if (value === undefined) attributes.delete(leaf.key);
  else attributes.set(leaf.key, value);
}

/** Calls back with each attribute that an object names; unknown and readOnly ones are ignored (RFC 7644 §3.3). */
function eachNamed(
  sent: Sent,
  find: (name: string) => Target | undefined,
  set: (target: Target, value: unknown) => void,
): void {
  for (const [name, value] of Object.entries(sent)) {
    const target = find(name);
    if (target && !("isReadOnly" in target && target.isReadOnly)) set(target, value);
  }
}

/** Finds the parts of a complex attribute by their names. */
const within = (complex: Complex) => (name: string) => {
  const wanted = name.toLowerCase();
  return complex.parts.find((part) => part.name.toLowerCase() === wanted);
};

/**
 * Sets what a value says about an attribute. Sub-attributes of a complex one that it does not name stay.
 *
 * @throws ApiError 400 `invalidValue`
 */
export function assign(
  attributes: Attributes,
  target: Exclude<Target, { kind: "part" }>,
  value: unknown,
): void {
  if (target.kind === "leaf") setScalar(attributes, target, scalarOf(target, value));
  else if (target.kind === "list") setElements(attributes, target, elementsOf(target, value));
  else assignComplex(attributes, target, value);
}

function assignComplex(attributes: Attributes, complex: Complex, given: unknown): void {
  const single = Array.isArray(given) && given.length === 1 ? given[0] : given;
  const value = within(complex)("value");
  if (isNothing(single)) {
    for (const leaf of leavesOf([complex])) attributes.delete(leaf.key);
  } else if (isObject(single)) {
    eachNamed(single, within(complex), (part, own) => {
      if (part.kind !== "part") assign(attributes, part, own);
    });
  } else if (value?.kind === "leaf") {
    // The manager's id alone, as Microsoft Entra sends it.
    assign(attributes, value, single);
  } else {
    throw refused("invalidValue", `${complex.key} must be an object.`);
  }
}

/**
 * Reads the user of a body (RFC 7644 §3.3, §3.5.1).
 *
 * @throws ApiError 400 `invalidValue`
 */
export function readUser(body: Sent): Attributes {
  const attributes: Attributes = new Map();
  eachNamed(body, targetOf, (target, value) => {
    if (target.kind !== "part") assign(attributes, target, value);
  });
  requireComplete(attributes);
  return attributes;
}

/**
 * Reads the body that replaces a user (RFC 7644 §3.5.1): attributes that it leaves out are removed.
 *
 * @param before the user, whose readOnly attributes stay
 * @throws ApiError 400 `invalidValue`
 */
export function replaced(before: Attributes, body: Sent): Attributes {
  const attributes = readUser(body);
  for (const { key, isReadOnly } of LEAVES) {
    const value = before.get(key);
    if (isReadOnly && value !== undefined) attributes.set(key, value);
  }
  return attributes;
}

/** Checks what only the whole user shows. @throws ApiError 400 `invalidValue` */
export function requireComplete(attributes: Attributes): void {
  const missing = LEAVES.find((leaf) => leaf.isRequired && !attributes.has(leaf.key));
  if (missing) throw refused("invalidValue", `${missing.key} is required.`);
  const count = LISTS.reduce((sum, list) => sum + elementsIn(attributes, list).length, 0);
  if (count > MAX_ELEMENTS) throw tooMany();
}

/** The values of a list. */
export function elementsIn(attributes: Attributes, { key }: Pick<List, "key">): readonly Element[] {
  const found = attributes.get(key);
  return Array.isArray(found) ? found : [];
}
