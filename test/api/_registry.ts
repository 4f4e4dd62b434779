import { createHash } from "node:crypto";
import { type Answer, type Person, type TestApp, tokenOf } from "../helpers.ts";

/** The media type of an image's manifest. */
export const IMAGE = "application/vnd.oci.image.manifest.v1+json";
/** The media type of a list of manifests. */
export const INDEX = "application/vnd.oci.image.index.v1+json";

type Calls = Pick<TestApp, "call">;

/** The digest of some content. */
export const digestOf = (content: string | Uint8Array) =>
  `sha256:${createHash("sha256").update(content).digest("hex")}`;

/** The header of HTTP Basic. */
export const basic = (login: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${login}:${password}`).toString("base64")}`,
});

/** The answer of the token service. */
export function signIn(
  app: Calls,
  scopes: readonly string[],
  headers: Record<string, string> = {},
): Promise<Answer> {
  const asked = scopes.map((scope) => `&scope=${encodeURIComponent(scope)}`).join("");
  return app.call(`GET http://localhost/jwt/auth?service=container_registry${asked}`, { headers });
}

/** What the token of an answer lets its bearer do. */
export const accessOf = ({ json }: Answer): { name: string; actions: string[] }[] =>
  JSON.parse(Buffer.from(json.token.split(".")[1], "base64url").toString()).access;

/** A client of the registry, with a token for some scopes. */
export async function registryOf(
  app: Calls,
  person: Person,
  ...scopes: readonly string[]
): Promise<(request: string, options?: Parameters<TestApp["call"]>[1]) => Promise<Answer>> {
  const headers = person === "anonymous" ? {} : basic(person, tokenOf(person));
  const { json, status, text } = await signIn(app, scopes, headers);
  if (status !== 200) throw new Error(`${status} ${text}`);
  return (request, options = {}) => {
    const [method, path] = request.split(" ") as [string, string];
    return app.call(`${method} http://localhost/v2/${path}`, {
      ...options,
      headers: { authorization: `Bearer ${json.token}`, ...options.headers },
    });
  };
}

/** A client that may do everything with a repository. */
export const pusher = (app: Calls, name = "acme/site", person: Person = "maintainer") =>
  registryOf(app, person, `repository:${name}:pull,push,delete`);

type Client = Awaited<ReturnType<typeof registryOf>>;

/** Pushes a blob as a whole, and returns its descriptor. */
export async function pushBlob(client: Client, name: string, content: string, mediaType = "a/b") {
  const digest = digestOf(content);
  const { status, text } = await client(`POST ${name}/blobs/uploads/?digest=${digest}`, {
    body: content,
    headers: { "content-type": "application/octet-stream" },
  });
  if (status !== 201) throw new Error(`${status} ${text}`);
  return { mediaType, digest, size: Buffer.byteLength(content) };
}

/** Pushes a manifest as JSON. */
export const putManifest = (
  client: Client,
  name: string,
  reference: string,
  manifest: object | string,
  type = IMAGE,
) =>
  client(`PUT ${name}/manifests/${reference}`, {
    body: typeof manifest === "string" ? manifest : JSON.stringify(manifest),
    headers: { "content-type": type },
  });

/** Pushes an image with a layer, and returns its manifest and the digest of that. */
export async function pushImage(client: Client, name: string, tag: string, layer = `layer ${tag}`) {
  const config = await pushBlob(
    client,
    name,
    JSON.stringify({ created: "2026-01-02T03:04:05Z", tag }),
    "application/vnd.oci.image.config.v1+json",
  );
  const layers = [await pushBlob(client, name, layer, "application/vnd.oci.image.layer.v1.tar")];
  const manifest = JSON.stringify({ schemaVersion: 2, mediaType: IMAGE, config, layers });
  const { status, text } = await putManifest(client, name, tag, manifest);
  if (status !== 201) throw new Error(`${status} ${text}`);
  return { manifest, digest: digestOf(manifest), config, layers };
}
