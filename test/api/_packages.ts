import { afterAll, beforeAll, beforeEach } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";

/** Where a test publishes packages: a private project in the private group `secret`. */
interface Publishing {
  readonly app: TestApp;
  /** The project's id. */
  readonly id: number;
  /** Its path in the API. */
  readonly project: string;
  /** Its number, which no other project of the file has. */
  readonly number: number;
  readonly fullPath: string;
}

/** Gives each test of a file a project of its own. @param use is told of it */
export function publishInProjects(use: (publishing: Publishing) => void): void {
  let app: TestApp;
  let number = 0;
  beforeAll(async () => {
    app = await testApp();
  });
  afterAll(() => app.dispose());
  beforeEach(async () => {
    number += 1;
    const group = await app.call("GET /groups/secret", { as: "owner" });
    const json = { name: `p${number}`, namespace_id: group.json.id };
    const made = await app.call("POST /projects", { as: "owner", json });
    const { id } = made.json;
    use({ app, id, number, project: `/projects/${id}`, fullPath: `secret/p${number}` });
  });
}
