import {
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  isAbstractType,
  isCompositeType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
} from "graphql";

/** Draws a number below a limit. */
export type Draw = (limit: number) => number;

/** A random operation, as a client would send it. */
export interface RandomOperation {
  query: string;
  variables: Record<string, unknown>;
}

/** Names in the answer that are properties of every object, or that have to be quoted nowhere. */
const ALIASES = ["__proto__", "constructor", "toString", "hasOwnProperty", "a", "id", "é"].filter(
  (name) => /^\w+$/.test(name),
);

const NUMBERS = [0, 1, 2, 3, 5, 50, 100, 101, -1, 2_147_483_647, -2_147_483_648];
const TEXTS = [
  "",
  " ",
  "a",
  "1",
  "0",
  "-1",
  "1.5",
  "999999999999999999999",
  "NaN",
  "acme",
  "ACME/site",
  "owner",
  "Development",
  "v1",
  "none",
  "%_\\'\"",
  "🎉\u0301",
  "\u0000",
  "x".repeat(300),
];
const PATHS = [
  "acme",
  "acme/site",
  "acme/team",
  "acme/team/core",
  "secret",
  "secret/vault",
  "none",
];
const TIMES = ["2026-01-01T00:00:00Z", "2020-12-31", "2026-01-01T10:00:00.123+02:00", "9999-12-31"];

/** Makes random operations that are valid for a schema. */
export class RandomDocuments {
  readonly #schema: GraphQLSchema;
  readonly #draw: Draw;
  readonly #cursors: readonly string[];
  #variables: { name: string; type: string; value: unknown; fallback: string | undefined }[] = [];
  #fragments: string[] = [];
  #names = 0;
  /** Those that the document does not have yet. */
  #oddNames: string[] = [];
  #fieldsLeft = 0;

  /** @param cursors texts to send as cursors, beside others */
  constructor(schema: GraphQLSchema, draw: Draw, cursors: readonly string[]) {
    this.#schema = schema;
    this.#draw = draw;
    this.#cursors = cursors;
  }

  /** A query. */
  query(): RandomOperation {
    this.#variables = [];
    this.#fragments = [];
    this.#names = 0;
    this.#oddNames = [...ALIASES];
    this.#fieldsLeft = 40;
    const body = this.#selections(this.#schema.getQueryType() as GraphQLNamedType, 0, []);
    const declared = this.#variables.map(
      ({ name, type, fallback }) => `$${name}: ${type}${fallback ? ` = ${fallback}` : ""}`,
    );
    const head = declared.length > 0 ? `query(${declared.join(", ")})` : "query";
    return {
      query: [`${head} ${body}`, ...this.#fragments].join("\n"),
      variables: Object.fromEntries(
        this.#variables
          .filter(({ value }) => value !== undefined)
          .map(({ name, value }) => [name, value]),
      ),
    };
  }

  #oneOf<T>(values: readonly T[]): T {
    return values[this.#draw(values.length)] as T;
  }

  #happens(oneIn: number): boolean {
    return this.#draw(oneIn) === 0;
  }

  #newName(prefix: string): string {
    this.#names += 1;
    return `${prefix}${this.#names}`;
  }

  #oddName(): string {
    const [name] = this.#oddNames.splice(this.#draw(this.#oddNames.length), 1);
    return name as string;
  }

  /** Selections in a composite type; each can be told apart from all others. */
  #selections(type: GraphQLNamedType, depth: number, above: readonly string[]): string {
    const fields =
      isObjectType(type) || isInterfaceType(type) ? Object.values(type.getFields()) : [];
    const leaves = fields.filter((field) => isLeafType(getNamedType(field.type)));
    const selected = ["__typename"];
    const count = 1 + this.#draw(5);
    for (let index = 0; index < count && this.#fieldsLeft > 0; index += 1) {
      this.#fieldsLeft -= 1;
      const pool = depth >= 6 ? leaves : fields;
      if (pool.length === 0) break;
      selected.push(...this.#field(this.#oneOf(pool), depth, above));
    }
    if (depth < 6 && this.#happens(3)) selected.push(this.#fragment(type, depth, above));
    return `{${selected.join(" ")}}`;
  }

  /** A field, perhaps selected twice in different ways. */
  #field(field: GraphQLField<unknown, unknown>, depth: number, above: readonly string[]): string[] {
    const { name } = field;
    const type = getNamedType(field.type);
    const isTransparent = ["nodes", "edges", "node"].includes(name);
    if (!isTransparent && above.filter((one) => one === name).length >= 2) return [];
    const isOdd = depth === 0 && this.#oddNames.length > 0 && this.#happens(40);
    const alias = isOdd ? this.#oddName() : this.#newName("f");
    const args = this.#arguments(field.args, name);
    const head = `${alias}: ${name}${args}${this.#directive()}`;
    if (!isCompositeType(type)) return this.#happens(6) ? [head, head] : [head];
    const below = isTransparent ? above : [...above, name];
    const once = () => head + this.#selections(type, depth + 1, below);
    return this.#happens(6) ? [once(), once()] : [once()];
  }

  #fragment(type: GraphQLNamedType, depth: number, above: readonly string[]): string {
    const condition = this.#condition(type);
    const body = this.#selections(condition, depth + 1, above);
    if (this.#happens(2)) {
      const on = this.#happens(3) && condition === type ? "" : ` on ${condition.name}`;
      return `...${on}${this.#directive()}${body}`;
    }
    const name = this.#newName("F");
    this.#fragments.push(`fragment ${name} on ${condition.name} ${body}`);
    const spread = `...${name}${this.#directive()}`;
    return this.#happens(4) ? `${spread} ...${name}` : spread;
  }

  /** A type that objects of a type may have. */
  #condition(type: GraphQLNamedType): GraphQLNamedType {
    if (isAbstractType(type)) return this.#oneOf([type, ...this.#schema.getPossibleTypes(type)]);
    if (isObjectType(type)) return this.#oneOf([type, type, ...type.getInterfaces()]);
    return type;
  }

  #directive(): string {
    if (!this.#happens(12)) return "";
    const name = this.#oneOf(["skip", "include"]);
    const value = this.#happens(4) === (name === "skip");
    if (this.#happens(2)) return ` @${name}(if: ${value})`;
    return ` @${name}(if: $${this.#variable("Boolean!", value, undefined)})`;
  }

  #variable(type: string, value: unknown, fallback: string | undefined): string {
    const name = this.#happens(30) ? "__proto__" : this.#newName("v");
    if (this.#variables.some((one) => one.name === name)) {
      return this.#variable(type, value, fallback);
    }
    this.#variables.push({ name, type, value, fallback });
    return name;
  }

  #arguments(args: readonly GraphQLArgument[], field: string): string {
    const written: string[] = [];
    for (const { name, type, defaultValue } of args) {
      const isNeeded = isNonNullType(type) && defaultValue === undefined;
      if (!isNeeded && !this.#happens(3)) continue;
      const value = this.#value(type, name, field, 0);
      if (this.#happens(3)) {
        const own = this.#variable(
          String(type),
          value,
          this.#happens(3) && value !== null ? this.#literal(type, value) : undefined,
        );
        written.push(`${name}: $${own}`);
      } else written.push(`${name}: ${this.#literal(type, value)}`);
    }
    return written.length > 0 ? `(${written.join(", ")})` : "";
  }

  /** A value as variables have it. */
  #value(type: GraphQLInputType, name: string, field: string, depth: number): unknown {
    if (isNonNullType(type))
      return this.#value(type.ofType, name, field, depth) ?? this.#value(type, name, field, depth);
    if (this.#happens(15)) return null;
    if (isListType(type)) {
      const items = Array.from({ length: this.#draw(4) }, () =>
        this.#value(type.ofType, name, field, depth),
      );
      return isNonNullType(type.ofType) ? items.filter((item) => item !== null) : items;
    }
    if (isInputObjectType(type)) {
      const given = Object.values(type.getFields()).filter(
        (one) => isNonNullType(one.type) || (depth < 3 && this.#happens(3)),
      );
      return Object.fromEntries(
        given.map((one) => [one.name, this.#value(one.type, one.name, field, depth + 1)]),
      );
    }
    if (isEnumType(type)) return this.#oneOf(type.getValues()).name;
    switch (type.name) {
      case "Int":
        return this.#oneOf(NUMBERS);
      case "Float":
        return this.#oneOf([...NUMBERS, 1.5]);
      case "Boolean":
        return this.#happens(2);
      case "Time":
        return this.#oneOf(TIMES);
      case "Date":
      case "ISO8601Date":
        return this.#oneOf(["2026-01-01", "2026-12-24"]);
      case "ID":
        return this.#oneOf([...PATHS, `gid://gitlab/Issue/${this.#draw(4)}`]);
      case "JSON":
        return {};
      case "Duration":
        return this.#oneOf(NUMBERS);
    }
    if (type.name.endsWith("ID")) return `gid://gitlab/${this.#classOf(type)}/${this.#draw(9)}`;
    if (name === "after" || name === "before") return this.#oneOf([...this.#cursors, ...TEXTS]);
    return this.#oneOf(/path/i.test(name) ? PATHS : TEXTS);
  }

  /** A class that a scalar of global ids takes: its description names them. */
  #classOf({ name, description }: GraphQLNamedType): string {
    const listed = description?.replace(/^The global id of |\.$/g, "").split(" or ");
    return this.#oneOf(listed ?? [name.replace(/ID$/, "")]);
  }

  /** A value as documents have it. */
  #literal(type: GraphQLInputType, value: unknown): string {
    if (isNonNullType(type)) return this.#literal(type.ofType, value);
    if (value === null || value === undefined) return "null";
    if (isListType(type)) {
      return `[${(value as unknown[]).map((item) => this.#literal(type.ofType, item)).join(", ")}]`;
    }
    if (isInputObjectType(type)) {
      const fields = type.getFields();
      const members = Object.entries(value).map(
        ([name, member]) =>
          `${name}: ${this.#literal(fields[name]?.type as GraphQLInputType, member)}`,
      );
      return `{${members.join(", ")}}`;
    }
    return isEnumType(type) ? String(value) : JSON.stringify(value);
  }
}
