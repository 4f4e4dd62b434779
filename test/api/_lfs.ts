import { createHash } from "node:crypto";
import { type Answer, type Person, type TestApp, tokenOf } from "../helpers.ts";
import { basic } from "./_registry.ts";

/** The media type of Git LFS. */
export const LFS_JSON = "application/vnd.git-lfs+json";

type Calls = Pick<TestApp, "call">;
type Options = Parameters<TestApp["call"]>[1];

/** The name of an object of Git LFS with some content. */
export const oidOf = (content: string | Uint8Array) =>
  createHash("sha256").update(content).digest("hex");

/** How clients name an object with some content. */
export const objectOf = (content: string | Uint8Array) => ({
  oid: oidOf(content),
  size: Buffer.byteLength(content),
});

/** The pointer that stands in a repository for some content. */
export const pointerTo = (content: string | Uint8Array) => {
  const { oid, size } = objectOf(content);
  return `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize ${size}\n`;
};

/** The header of HTTP Basic with a person's token; none of nobody's. */
export const credentialsOf = (person: Person): Record<string, string> =>
  person === "anonymous" ? {} : basic(person, tokenOf(person));

/** A request of Git LFS, below a project's repository, with a person's token. */
export function lfs(
  app: Calls,
  person: Person,
  request: string,
  json?: unknown,
  { headers = {}, ...options }: NonNullable<Options> = {},
  project = "acme/site",
): Promise<Answer> {
  const [method, path] = request.split(" ") as [string, string];
  const sent =
    json === undefined ? {} : { body: typeof json === "string" ? json : JSON.stringify(json) };
  return app.call(`${method} http://localhost/${project}.git/${path}`, {
    ...sent,
    ...options,
    headers: {
      accept: LFS_JSON,
      ...(json !== undefined && { "content-type": `${LFS_JSON}; charset=utf-8` }),
      ...credentialsOf(person),
      ...headers,
    },
  });
}

/** Asks where objects are transferred, as git-lfs 3.3 does. */
export const batch = (
  app: Calls,
  person: Person,
  operation: string,
  objects: unknown,
  project = "acme/site",
  more: object = {},
) =>
  lfs(
    app,
    person,
    "POST info/lfs/objects/batch",
    {
      operation,
      objects,
      transfers: ["lfs-standalone-file", "basic", "ssh"],
      ref: { name: "refs/heads/main" },
      hash_algo: "sha256",
      ...more,
    },
    {},
    project,
  );

/** Sends some content to an address. */
export const put = (
  app: Calls,
  person: Person,
  content: string | Uint8Array,
  { oid, size }: { oid: string; size: number | string } = objectOf(content),
  project = "acme/site",
  headers: Record<string, string> = {},
) =>
  lfs(
    app,
    person,
    `PUT gitlab-lfs/objects/${oid}/${size}`,
    undefined,
    {
      body: content as BodyInit,
      headers: { "content-type": "application/octet-stream", ...headers },
    },
    project,
  );
