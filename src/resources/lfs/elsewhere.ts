import {
  type Client,
  isTold,
  type Sending,
  SourceError,
  type Told,
} from "../../outgoing/client.ts";

/** Objects that are asked for at once, as git-lfs does. */
export const AT_ONCE = 100;
const TYPE = "application/vnd.git-lfs+json";

/** Headers that are about a connection: they are not the other server's to say. */
const OWN = /^(host|connection|content-length|expect|te|transfer-encoding|upgrade)$/i;

/** A repository on another server. */
export interface Elsewhere {
  readonly client: Client;
  /** With credentials. */
  readonly url: URL;
}

/** An object as servers name it. */
export interface Named {
  readonly oid: string;
  readonly size: number;
}

/**
 * Where objects are downloaded from or uploaded to, as the other server says (git-lfs, docs/api/batch.md).
 *
 * @returns what it says, by the names of objects
 * @throws SourceError if it does not say it
 */
export async function offersOf(
  { client, url }: Elsewhere,
  operation: "download" | "upload",
  objects: readonly Named[],
): Promise<Map<unknown, Told>> {
  const at = new URL(url);
  at.pathname = `${at.pathname.replace(/(\.git)?\/?$/, "")}.git/info/lfs/objects/batch`;
  const told = await client.ask({
    url: at,
    method: "POST",
    headers: { accept: TYPE, "content-type": TYPE },
    body: JSON.stringify({
      operation,
      transfers: ["basic"],
      objects: objects.map(({ oid, size }) => ({ oid, size })),
    }),
  });
  const offers = told["objects"];
  const known = Array.isArray(offers) ? offers.filter(isTold) : [];
  return new Map(known.map((one) => [one["oid"], one]));
}

const partOf = (told: Told, name: string): Told => {
  const part = told[name];
  return isTold(part) ? part : {};
};

/** Why an object can't be transferred, if the other server says so. */
export function problemOf(offer: Told): string | undefined {
  const { message } = partOf(offer, "error");
  return typeof message === "string" ? message : undefined;
}

/**
 * How one of the actions that an object was offered is asked for.
 *
 * @returns `undefined` if the other server does not offer it
 * @throws SourceError if it is at an address that is not asked
 */
export function actionOf(
  { url }: Elsewhere,
  offer: Told,
  action: "download" | "upload" | "verify",
): Pick<Sending, "url" | "headers"> | undefined {
  const offered = partOf(partOf(offer, "actions"), action);
  const { href } = offered;
  if (typeof href !== "string" || !URL.canParse(href)) return undefined;
  const at = new URL(href);
  if (!/^https?:$/.test(at.protocol)) throw new SourceError("it is at an address of another kind");
  const headers = Object.entries(partOf(offered, "header")).filter(
    (header): header is [string, string] => typeof header[1] === "string" && !OWN.test(header[0]),
  );
  const isTrusted = at.origin === url.origin;
  if (isTrusted && !headers.some(([name]) => name.toLowerCase() === "authorization")) {
    at.username = url.username;
    at.password = url.password;
  }
  return { url: at, headers: Object.fromEntries(headers) };
}

/** Sends an object to where the other server wants it, unless it has it. @throws SourceError if it does not take it */
export async function sendObject(
  elsewhere: Elsewhere,
  object: Named,
  offer: Told,
  bytes: () => AsyncIterable<Uint8Array>,
): Promise<void> {
  const problem = problemOf(offer);
  if (problem !== undefined) throw new SourceError(problem);
  const upload = actionOf(elsewhere, offer, "upload");
  if (!upload) return;
  const { client } = elsewhere;
  await client.deliver({
    ...upload,
    method: "PUT",
    headers: {
      "content-type": "application/octet-stream",
      ...upload.headers,
      "content-length": String(object.size),
    },
    body: bytes,
  });
  const verify = actionOf(elsewhere, offer, "verify");
  if (!verify) return;
  const { oid, size } = object;
  await client.deliver({
    ...verify,
    method: "POST",
    headers: { accept: TYPE, "content-type": TYPE, ...verify.headers },
    body: JSON.stringify({ oid, size }),
  });
}
