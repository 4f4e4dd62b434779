import { unreadable } from "../../core/errors.ts";

/** Checks the name of a file of a generic package, whose parts become parts of its address. @throws ApiError 400 */
export function requireNames(given: {
  package_name: string;
  package_version: string;
  file_name: string;
}): void {
  const isName = (text: string) => /^[\w.+-]+$/.test(text) && !text.includes("..");
  const isFileName = (text: string) =>
    /^[\w.+~@/-]+$/.test(text) && text.split("/").every((part) => !/^\.*$/.test(part));
  const wrong = [
    isName(given.package_name) ? "" : "package_name",
    isName(given.package_version) ? "" : "package_version",
    isFileName(given.file_name) ? "" : "file_name",
  ].filter((name) => name !== "");
  if (wrong.length > 0) throw unreadable(wrong.map((name) => `${name} is invalid`).join(", "));
}
