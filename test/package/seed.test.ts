import type { InferInput } from "valibot";
import { expectTypeOf, it } from "vitest";
import type { Seed } from "../../src/index.ts";
import type { SeedSchema } from "../../src/seed/index.ts";

/** A structural copy of the type: no names, readonly or intersections, except for nested groups. */
type Plain<T> = T extends string
  ? T
  : T extends readonly (infer Item)[]
    ? Plain<Item>[]
    : T extends object
      ? { -readonly [Key in keyof T]: Key extends "subgroups" ? unknown : Plain<T[Key]> }
      : T;

it("the type of a seed matches its schema", () => {
  expectTypeOf<Plain<Seed>>().toEqualTypeOf<Plain<InferInput<typeof SeedSchema>>>();
});
