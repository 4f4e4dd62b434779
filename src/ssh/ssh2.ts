import type ssh2 from "ssh2";
import { loadPackage } from "../store/packages.ts";

/** What of the package `ssh2` is used. */
export type Ssh2 = Pick<typeof ssh2, "Server" | "utils">;

/**
 * Loads the package `ssh2`. Not by an import: bundlers would follow it, and fail at parts of it that are compiled.
 *
 * @param given the module, in a program that has it in its own file
 */
export function loadSsh2(given: object | undefined): Ssh2 {
  const found = given ?? loadPackage<Ssh2>("ssh2");
  return "default" in found ? (found.default as Ssh2) : (found as Ssh2);
}
