import { GraphQLError } from "graphql";
import type { GlobalId } from "./declare.ts";

const GLOBAL_ID = /^gid:\/\/gitlab\/([A-Za-z:]+)\/(\d{1,15})$/;

/**
 * Reads a global id such as `gid://gitlab/Issue/1`.
 *
 * @param expected what it must stand for, in errors
 * @param types the types it may have
 * @throws GraphQLError if it is malformed or of another type
 */
export function readGlobalId(value: unknown, expected: string, types: readonly string[]): GlobalId {
  const text = typeof value === "string" ? value : "";
  const [, type = "", digits] = GLOBAL_ID.exec(text) ?? [];
  if (digits === undefined) {
    throw new GraphQLError(`"${text.slice(0, 100)}" is not a valid Global ID`);
  }
  if (!types.includes(type)) {
    throw new GraphQLError(`"${text}" does not represent an instance of ${expected}`);
  }
  return { type, id: Number(digits) };
}
