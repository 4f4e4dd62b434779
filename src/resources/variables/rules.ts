import { type AttributeErrors, invalid } from "../../core/errors.ts";

/** What a masked value may consist of, so that it can be recognised in a trace. */
const MASKABLE = /^[\w+=/@:.~-]{8,}$/;
/** The same for values in which `$` means nothing. */
const MASKABLE_RAW = /^\S{8,}$/;

/** What is wrong with a variable's key, if anything. */
export function keyErrors(key: string): string[] {
  if (key === "") return ["can't be blank"];
  return /^\w+$/.test(key) ? [] : ["can contain only letters, digits and '_'."];
}

/**
 * Checks a variable.
 *
 * @param value `undefined` if it stays as it is, and was checked before
 * @throws ApiError 400
 */
export function requireValid(variable: {
  key: string;
  value: string | undefined;
  environment_scope: string;
  masked: boolean;
  raw: boolean;
}): void {
  const { key, value, environment_scope: scope, masked, raw } = variable;
  const errors: AttributeErrors = {};
  const ofKey = keyErrors(key);
  if (ofKey.length > 0) errors["key"] = ofKey;
  if (value !== undefined && masked && !(raw ? MASKABLE_RAW : MASKABLE).test(value)) {
    errors["value"] = ["is invalid"];
  }
  if (!/^[\w/${}. *-]+$/.test(scope)) {
    errors["environment_scope"] = [
      "can contain only letters, digits, '-', '_', '/', '$', '{', '}', '.', '*' and spaces",
    ];
  }
  if (Object.keys(errors).length > 0) throw invalid(errors);
}
