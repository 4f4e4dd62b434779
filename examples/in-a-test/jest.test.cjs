const { startTestServer } = require("pm-api/testing");

let server;
beforeAll(async () => {
  server = await startTestServer({ seed: `${__dirname}/seed.json` });
});
afterEach(() => server.reset());
afterAll(() => server.close());

const labels = (init) =>
  fetch(`${server.url}/api/v4/groups/acme/labels`, {
    ...init,
    headers: { "private-token": server.token, "content-type": "application/json" },
  });

test("creates a label", async () => {
  const body = JSON.stringify({ name: "urgent", color: "#cc0000" });
  expect((await labels({ method: "POST", body })).status).toBe(201);
  expect((await (await labels()).json()).map(({ name }) => name)).toEqual(["bug", "urgent"]);
});

test("starts from the seed again", async () => {
  expect(await (await labels()).json()).toHaveLength(1);
});
