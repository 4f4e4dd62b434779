const HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;

/** An origin of what a request or a proxy says; `undefined` where that can't be one. */
export function originOf(protocol: string, host: string): string | undefined {
  if (!HOST.test(host) || !/^https?$/.test(protocol)) return undefined;
  const origin = `${protocol}://${host}`;
  // The pattern lets through what the URL parser refuses: port 99999, 999.999.999.999, xn--, [::::].
  return URL.canParse(origin) ? origin : undefined;
}

/** What the proxy nearest to the client says: the first value of an `X-Forwarded-` header. */
export function forwarded(
  header: (name: string) => string | undefined,
  name: "for" | "proto" | "host",
): string | undefined {
  return header(`x-forwarded-${name}`)?.split(",", 1)[0]?.trim() || undefined;
}
