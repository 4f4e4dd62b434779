import type ssh2 from "ssh2";
import { loadPackage } from "../store/packages.ts";

/** What of the package `ssh2` is used. */
export type Library = Pick<typeof ssh2, "Server" | "utils">;

/**
 * Loads the package `ssh2`. Not by an import: bundlers would follow it, and fail at parts of it that are compiled.
 *
 * @param given the module, in a program that has it in its own file
 */
export function loadLibrary(given: object | undefined): Library {
  const found = given ?? loadPackage<Library>("ssh2");
  return "default" in found ? (found.default as Library) : (found as Library);
}
