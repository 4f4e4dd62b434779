import type { TestServer } from "../../src/testing.ts";

/** Gives an order to a test server. @param body as JSON */
export async function tell({ url }: { url: string }, method: string, path: string, body?: unknown) {
  const response = await fetch(`${url}/-/test/${path}`, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, json: jsonOf(await response.text()) };
}

/** Asks a test server's API. @param as the token; default: that of the server */
export async function ask(
  { url, token }: Pick<TestServer, "url" | "token">,
  request: string,
  body?: unknown,
  as = token,
) {
  const [method, path] = request.split(" ") as [string, string];
  const response = await fetch(`${url}/api/v4${path}`, {
    method,
    headers: { "private-token": as, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, json: jsonOf(await response.text()) };
}

// biome-ignore lint/suspicious/noExplicitAny: tests look at any attribute
function jsonOf(text: string): any {
  return text === "" ? undefined : JSON.parse(text);
}
