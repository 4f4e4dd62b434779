/** A character that has a meaning in a DN, or would be lost at its ends (RFC 4514 §2.4). */
const SPECIAL = /[",+;<>=\\\p{Cc}]|^[ #]| $/gu;

/**
 * A distinguished name as it is compared: in small letters, without spaces around its parts, and with each character escaped
 * in one way. Servers write the same name in several, and tell people apart by none of it.
 *
 * @returns `undefined` if it is no distinguished name
 */
export function normalizeDn(dn: string): string | undefined {
  const parts: string[] = [];
  let at = 0;
  const skipSpaces = () => {
    while (dn[at] === " ") at += 1;
  };
  for (;;) {
    skipSpaces();
    const equals = dn.indexOf("=", at);
    const attribute = equals < 0 ? "" : dn.slice(at, equals).trim();
    if (!/^(oid\.)?[a-z\d][a-z\d.-]*$/i.test(attribute)) return undefined;
    at = equals + 1;
    skipSpaces();
    const value = readValue(dn, at);
    if (!value) return undefined;
    at = value.end;
    const written = value.text.toLowerCase().replace(/ {2,}/g, " ").replace(SPECIAL, escaped);
    parts.push(`${attribute.toLowerCase()}=${written}`);
    if (at === dn.length) return parts.join("");
    parts.push(dn[at] === "+" ? "+" : ",");
    at += 1;
  }
}

const escaped = (character: string) =>
  /\p{Cc}/u.test(character)
    ? [...Buffer.from(character)].map((byte) => `\\${byte.toString(16).padStart(2, "0")}`).join("")
    : `\\${character}`;

/** Reads a value up to the next part. @param from where it begins, without spaces before it */
function readValue(dn: string, from: number): { text: string; end: number } | undefined {
  const isQuoted = dn[from] === '"';
  const bytes: Buffer[] = [];
  let [at, kept] = [isQuoted ? from + 1 : from, 0];
  const add = (part: Buffer, isKept: boolean) => {
    bytes.push(part);
    if (isKept) kept = bytes.length;
  };
  while (at < dn.length && (isQuoted ? dn[at] !== '"' : !/[,;+]/.test(dn[at] as string))) {
    if (dn[at] === "\\") {
      const hex = /^[\da-f]{2}/i.exec(dn.slice(at + 1, at + 3))?.[0];
      const character = String.fromCodePoint(dn.codePointAt(at + 1) ?? 0);
      if (hex === undefined && at + 1 >= dn.length) return undefined;
      add(hex === undefined ? Buffer.from(character) : Buffer.from(hex, "hex"), true);
      at += 1 + (hex === undefined ? character.length : 2);
    } else {
      const character = String.fromCodePoint(dn.codePointAt(at) as number);
      // Spaces at the end are none of the value's, unless they are escaped or quoted.
      add(Buffer.from(character), isQuoted || character !== " ");
      at += character.length;
    }
  }
  if (isQuoted) {
    if (dn[at] !== '"') return undefined;
    at += 1;
    while (dn[at] === " ") at += 1;
    if (at < dn.length && !/[,;+]/.test(dn[at] as string)) return undefined;
  }
  const text = Buffer.concat(bytes.slice(0, kept)).toString("utf8");
  return text === "" ? undefined : { text, end: at };
}

/** Whether a provider's name is that of an LDAP server, whose people are called by distinguished names. */
export const isLdap = (provider: string): boolean => provider.startsWith("ldap");

/** What a provider calls somebody, as it is stored and looked up. */
export const normalizedUid = (provider: string, uid: string): string =>
  isLdap(provider) ? (normalizeDn(uid) ?? uid) : uid;
