import type { TestRequest } from "../requests.ts";

/** Headers that curl sets itself, or that say nothing about the request. */
const LEFT_OUT =
  /^(host|connection|content-length|accept-encoding|user-agent|accept-language|sec-.*|accept|cookie|transfer-encoding)$/;
/** Headers whose values are secrets, which requests are kept without. */
const SECRETS = /^(private-token|authorization|job-token|deploy-token)$/;

/**
 * A request as a command of curl.
 *
 * @param tokens of users: that of the caller stands for the secret that the request had
 */
export function curlOf(
  { method, path, query, headers, body, user }: TestRequest,
  url: string,
  tokens: Readonly<Record<string, string>>,
): string {
  const token = (user !== null && tokens[user]) || "$TOKEN";
  const sent = Object.entries(headers).filter(([name]) => !LEFT_OUT.test(name));
  const lines = sent.map(([name, value]) => {
    if (!SECRETS.test(name)) return `-H ${quoted(`${name}: ${value}`)}`;
    return `-H ${quoted(`private-token: ${token}`)}`;
  });
  return [
    `curl ${method === "GET" ? "" : `-X ${method} `}${quoted(`${url}${path}${query && `?${query}`}`)}`,
    ...lines,
    ...(body === null || body === "" ? [] : [`--data-raw ${quoted(body)}`]),
  ].join(" \\\n  ");
}

/** A text for a POSIX shell: with a variable in it in double quotes, else in single ones. */
function quoted(text: string): string {
  return text.includes("$TOKEN") ? `"${text}"` : `'${text.replaceAll("'", "'\\''")}'`;
}
