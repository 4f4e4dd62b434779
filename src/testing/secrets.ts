/** What is shown instead of a secret, as in the log of a webhook. */
const HIDDEN = "[REDACTED]";

/** The end of a name whose value is a secret. */
const WORDS =
  "(?:token|secret|password|passwd|password_confirmation|credentials?|private_?key|api_?key|otp_attempt|code_verifier)";
const SECRET = new RegExp(`${WORDS}$`, "i");
const SECRET_HEADER = /^(?:proxy-)?authorization$|cookie$|token$|secret$|key$/i;

/** A value of JSON to its closing quote, or to the end of a text that was cut off: it always matches, so it is read once. */
const VALUE = String.raw`"(?:[^"\\]|\\[\s\S]?)*"?`;
/** {@link VALUE} within a text of JSON, where each backslash and quote has another backslash before it. */
const NESTED_VALUE = String.raw`\\"(?:[^"\\]|\\\\(?:\\\\|\\"|[^"\\])?)*(?:\\")?`;
/** `"name": "value"` of JSON, and of JSON within a text of JSON. */
const IN_JSON = new RegExp(
  String.raw`(${WORDS}\\?"?\s{0,9}:\s{0,9})(?:${VALUE}|${NESTED_VALUE}|\d+)`,
  "gi",
);
/** `name=value` of a query, of a form, or of an address within a text. */
const IN_FORM = new RegExp(`((?:${WORDS}(?:%5D|\\])?|(?<![^?&#])code)=)[^&\\s"'<>\\\\]+`, "gi");
/** A part of a multipart body. */
const IN_PART = new RegExp(`(${WORDS}"\\r\\n\\r\\n)[^\\r\\n]+`, "gi");
/** The password in an address. */
const IN_ADDRESS = /(\/\/[^/\s:@"]{0,255}:)[^/\s@"]{1,255}@/g;
/** Tokens, wherever they are: GitLab's and ours begin with such a word. */
const TOKEN = /\b(?:gl(?:pat|rtr?|cbt|dt|oas|ft|soat|ptt|imt|agent|ffct|wt)|pm[as]t)-[\w.-]{16,}/g;

/** A query, a body or another text without the secrets in it. */
export function withoutSecrets(text: string): string {
  return text
    .replace(IN_JSON, (found, name: string) => {
      const quote = found.startsWith("\\", name.length) ? '\\"' : '"';
      return name + quote + HIDDEN + quote;
    })
    .replace(IN_FORM, `$1${HIDDEN}`)
    .replace(IN_PART, `$1${HIDDEN}`)
    .replace(IN_ADDRESS, `$1${HIDDEN}@`)
    .replace(TOKEN, HIDDEN);
}

/** Headers without the secrets in them. Of `Authorization` the scheme stays. */
export function withoutSecretHeaders(headers: Readonly<Record<string, string>>) {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      if (!SECRET_HEADER.test(name) && !SECRET.test(name)) return [name, withoutSecrets(value)];
      const scheme = /^(?:Bearer|Basic|Token) /i.exec(value)?.[0] ?? "";
      return [name, scheme + HIDDEN];
    }),
  );
}
