import { GraphQLError } from "graphql";
import type { GlobalId } from "./declare.ts";

const GLOBAL_ID = /^gid:\/\/gitlab\/([A-Za-z:]+)\/([0-9A-Za-z]{1,40})$/;

/**
 * Reads a global id such as `gid://gitlab/Issue/1`.
 *
 * @param expected what it must stand for, in errors
 * @param types the types it may have
 * @throws GraphQLError if it is malformed or of another type
 */
export function readGlobalId(value: unknown, expected: string, types: readonly string[]): GlobalId {
  const { type, id } = readTextId(value, expected, types);
  if (!/^\d{1,15}$/.test(id)) throw invalid(String(value));
  return { type, id: Number(id) };
}

/** Like {@link readGlobalId}, for records whose ids are texts. */
export function readTextId(
  value: unknown,
  expected: string,
  types: readonly string[],
): { type: string; id: string } {
  const text = typeof value === "string" ? value : "";
  const [, type = "", id] = GLOBAL_ID.exec(text) ?? [];
  if (id === undefined) throw invalid(text);
  const known = types.includes(type) ? type : types.find((one) => SAME[one] === type);
  if (known === undefined) {
    throw new GraphQLError(`"${text}" does not represent an instance of ${expected}`);
  }
  return { type: known, id };
}

/** Issues are work items: where the id of one is taken, so is that of the other, as in GitLab. */
const SAME: Readonly<Record<string, string>> = { Issue: "WorkItem", WorkItem: "Issue" };

const invalid = (text: string) =>
  new GraphQLError(`"${text.slice(0, 100)}" is not a valid Global ID`);
