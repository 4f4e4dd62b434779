import { describe, expect, it } from "vitest";
import { openapi } from "../../docs/generate/openapi.ts";
import { reference } from "../../docs/generate/reference.ts";
import { API } from "../../src/resources/mount.ts";
import { topicResource } from "./topics.ts";

interface Operation {
  parameters: { name: string; in: string }[];
  requestBody?: { content: Record<string, { schema?: { $ref?: string } }> };
  responses: object;
}

const mount = { ...API, resources: [topicResource] };
const described = [{ ...topicResource, mount }];
const { paths, components } = openapi(described) as unknown as {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, { properties: object }> };
};
const operation = (method: string, path: string) =>
  paths[`/projects/{id}/topics${path}`]?.[method] as Operation;

describe("the documents of the toys", () => {
  it("have the attributes of a PATCH in its body", () => {
    const { requestBody, parameters, responses } = operation("patch", "/{topic_id}");
    const { $ref = "" } = requestBody?.content["application/json"]?.schema ?? {};
    const sent = components.schemas[$ref.split("/").at(-1) as string];
    expect(Object.keys(sent?.properties ?? {})).toEqual(["name", "description"]);
    expect(parameters.map(({ name }) => name)).toEqual(["id", "topic_id"]);
    expect(Object.keys(responses)).toEqual(["200", "4XX", "5XX"]);
  });

  it("say that a reading POST answers 200, and what bodies of any type may be", async () => {
    expect(Object.keys(operation("post", "/search").responses)).toEqual(["200", "4XX", "5XX"]);
    const { requestBody } = operation("put", "/{topic_id}/digest");
    expect(Object.keys(requestBody?.content ?? {})).toEqual(["application/octet-stream"]);
    const page = await reference(described)["reference/topics.md"]?.();
    const [, section] = page?.split("\n## PUT /projects/:id/topics/:topic_id/digest") ?? [];
    expect(section).toContain(
      "The body of at most 5000000 bytes may be of any type, and compressed with gzip.",
    );
  });
});
