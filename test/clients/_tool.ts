import { startTestServer, type TestServer } from "../../src/testing.ts";

/** The token of the owner of {@link startWithTool}. */
export const TOKEN = "ann-token";

/** Starts a server with the private project `acme/tool`, whose owner is Ann, and Rob a reporter. */
export async function startWithTool(): Promise<{ server: TestServer; id: number }> {
  const server = await startTestServer({
    seed: {
      users: [
        { username: "ann", email: "ann@a.test", tokens: [{ token: TOKEN }] },
        { username: "rob", email: "rob@a.test", tokens: [{ token: "rob-token" }] },
      ],
      groups: [
        {
          path: "acme",
          visibility: "private",
          members: { ann: "owner", rob: "reporter" },
          projects: [{ path: "tool", visibility: "private" }],
        },
      ],
    },
  });
  const headers = { "private-token": TOKEN };
  const answer = await fetch(`${server.url}/api/v4/projects/acme%2Ftool`, { headers });
  return { server, id: ((await answer.json()) as { id: number }).id };
}
