const HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;

/** The last origin that was asked for: mostly all requests have the same one. */
let last: { protocol: string; host: string; origin: string | undefined } | undefined;

/** Builds an origin from a request's or a proxy's headers; `undefined` if they don't form a valid one. */
export function originOf(protocol: string, host: string): string | undefined {
  if (last?.host !== host || last.protocol !== protocol) {
    last = { protocol, host, origin: parsed(protocol, host) };
  }
  return last.origin;
}

function parsed(protocol: string, host: string): string | undefined {
  if (!HOST.test(host) || !/^https?$/.test(protocol)) return undefined;
  const origin = `${protocol}://${host}`;
  // The pattern accepts hosts that the URL parser refuses: port 99999, 999.999.999.999, xn--, [::::].
  return URL.canParse(origin) ? origin : undefined;
}

/**
 * The value that the outermost trusted proxy has given to an `X-Forwarded-` header. Proxies append to what they get, so
 * whatever is left of it may be written by the client.
 *
 * @param proxies how many there are in front, see `trustProxy`
 */
export function forwarded(
  header: (name: string) => string | undefined,
  name: "for" | "proto" | "host",
  proxies: boolean | number,
): string | undefined {
  const values = proxies ? header(`x-forwarded-${name}`)?.split(",") : undefined;
  return (values?.at(-Number(proxies)) ?? values?.[0])?.trim() || undefined;
}
