import type { Answer } from "../helpers.ts";

/** What an order, or a request, was answered with. */
export type Told = Omit<Answer, "text">;

/** Gives an order to a world. @param body as JSON, or as the text that it is */
export async function tell(
  { url }: { url: string },
  method: string,
  path: string,
  body?: unknown,
): Promise<Told> {
  const response = await fetch(`${url}/-/test/${path}`, {
    method,
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    json: text === "" ? undefined : JSON.parse(text),
  };
}

/** Asks a world's API as the owner of its token. @param body as JSON */
export async function ask(
  { url, token }: { url: string; token: string },
  method: string,
  path: string,
  body?: unknown,
): Promise<Told> {
  const response = await fetch(`${url}/api/v4${path}`, {
    method,
    headers: { "private-token": token, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.includes("json");
  return {
    status: response.status,
    headers: response.headers,
    json: text === "" ? undefined : isJson ? JSON.parse(text) : text,
  };
}
