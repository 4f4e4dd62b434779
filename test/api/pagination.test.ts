import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Route } from "../../src/core/resource.ts";
import { createFixtures, fixtureSeed, type Places, pathOf, placesIn } from "../fixtures.ts";
import { baseSeed, type CallOptions, type TestApp, testApp } from "../helpers.ts";
import { toys } from "../toy/index.ts";
import { resourceOf, routes } from "./routes.ts";

// Numbers in test names are case ids.

let app: TestApp;
beforeAll(async () => {
  app = await testApp({
    seed: {
      ...baseSeed,
      groups: [
        ...(baseSeed.groups ?? []),
        {
          path: "three",
          visibility: "public",
          labels: ["a", "b", "c"].map((name) => ({ name })),
        },
        {
          path: "full",
          visibility: "public",
          labels: Array.from({ length: 120 }, (_, index) => ({
            name: `label ${String(index).padStart(3, "0")}`,
          })),
        },
      ],
    },
  });
});
afterAll(() => app.dispose());

const call = (request: string, options: CallOptions = {}, on: TestApp = app) =>
  on.call(request, { as: "owner", ...options });

/** All pagination headers of an answer; `undefined` for missing ones. */
async function paging(request: string, on: TestApp = app) {
  const { status, json, headers } = await call(request, {}, on);
  expect([request, status]).toEqual([request, 200]);
  const of = (name: string) => headers.get(name) ?? undefined;
  return {
    items: json.length as number,
    total: of("x-total"),
    pages: of("x-total-pages"),
    size: of("x-per-page"),
    page: of("x-page"),
    next: of("x-next-page"),
    previous: of("x-prev-page"),
    links: Object.keys(links(headers)).join(" "),
  };
}

/** The URLs of a `Link` header by their `rel`, in order. */
function links(headers: Headers): Record<string, string> {
  const found = [...(headers.get("link") ?? "").matchAll(/<([^>]*)>; rel="(\w+)"/g)];
  return Object.fromEntries(found.map(([, url, rel]) => [rel, url]));
}

const LABELS = "http://pm.test/api/v4/groups/three/labels";

describe("offset pagination", () => {
  it("268: begins at page 1, with links to first, next and last", async () => {
    const { headers } = await call("GET /groups/three/labels?per_page=2");
    expect(headers.get("link")).toBe(
      `<${LABELS}?page=2&per_page=2>; rel="next", ` +
        `<${LABELS}?page=1&per_page=2>; rel="first", ` +
        `<${LABELS}?page=2&per_page=2>; rel="last"`,
    );
    expect(await paging("GET /groups/three/labels?per_page=2")).toEqual({
      items: 2,
      total: "3",
      pages: "2",
      size: "2",
      page: "1",
      next: "2",
      previous: "",
      links: "next first last",
    });
  });

  it("269: the last page has links to prev, first and last", async () => {
    const { headers, json } = await call("GET /groups/three/labels?per_page=2&page=2");
    expect(json.map(({ name }: { name: string }) => name)).toEqual(["c"]);
    expect(headers.get("link")).toBe(
      `<${LABELS}?page=1&per_page=2>; rel="prev", ` +
        `<${LABELS}?page=1&per_page=2>; rel="first", ` +
        `<${LABELS}?page=2&per_page=2>; rel="last"`,
    );
    expect(await paging("GET /groups/three/labels?per_page=2&page=2")).toEqual({
      items: 1,
      total: "3",
      pages: "2",
      size: "2",
      page: "2",
      next: "",
      previous: "1",
      links: "prev first last",
    });
  });

  it("has all four links in the middle, in GitLab's order", async () => {
    expect(await paging("GET /groups/three/labels?per_page=1&page=2")).toEqual({
      items: 1,
      total: "3",
      pages: "3",
      size: "1",
      page: "2",
      next: "3",
      previous: "1",
      links: "prev next first last",
    });
  });

  it("has one page if everything fits", async () => {
    expect(await paging("GET /groups/three/labels")).toEqual({
      items: 3,
      total: "3",
      pages: "1",
      size: "20",
      page: "1",
      next: "",
      previous: "",
      links: "first last",
    });
    expect(await paging("GET /groups/three/labels?per_page=3")).toMatchObject({
      items: 3,
      pages: "1",
      next: "",
    });
  });

  it("has one page for an empty list", async () => {
    expect(await paging("GET /groups/three/boards")).toEqual({
      items: 0,
      total: "0",
      pages: "1",
      size: "20",
      page: "1",
      next: "",
      previous: "",
      links: "first last",
    });
  });

  it("271: is empty past the end, with neither next nor prev", async () => {
    expect(await paging("GET /groups/three/labels?page=99")).toEqual({
      items: 0,
      total: "3",
      pages: "1",
      size: "20",
      page: "99",
      next: "",
      previous: "",
      links: "first last",
    });
    expect(await paging("GET /groups/three/labels?page=2&per_page=3")).toMatchObject({
      items: 0,
      page: "2",
      previous: "",
    });
  });

  it.each([
    ["", { page: "1", size: "20", items: 20 }],
    ["page=0", { page: "1", size: "20", items: 20 }], // 272
    ["page=-3", { page: "1", size: "20", items: 20 }],
    ["page=", { page: "1", size: "20", items: 20 }],
    ["page", { page: "1", size: "20", items: 20 }],
    ["page=%2B2", { page: "2", size: "20", items: 20 }],
    ["page=007", { page: "7", size: "20", items: 0 }],
    ["per_page=500", { page: "1", size: "100", items: 100 }], // 275
    ["per_page=101", { page: "1", size: "100", items: 100 }],
    ["per_page=100", { page: "1", size: "100", items: 100 }],
    ["per_page=-1", { page: "1", size: "20", items: 20 }],
    ["per_page=", { page: "1", size: "20", items: 20 }],
    ["page=9007199254740991&per_page=100", { page: "9007199254740991", size: "100", items: 0 }],
    ["page=2&page=3", { page: "3", size: "20", items: 20 }],
  ])("reads ?%s", async (query, expected) => {
    const { page, size, items } = await paging(`GET /groups/full/labels?${query}`);
    expect({ page, size, items }).toEqual(expected);
  });

  it.each([
    ["page=abc", { page: ["is invalid"] }], // 274
    ["page=1.5", { page: ["is invalid"] }],
    ["page=1e3", { page: ["is invalid"] }],
    ["page=%201", { page: ["is invalid"] }],
    ["page=99999999999999999999", { page: ["is invalid"] }],
    ["page[]=1", { page: ["is invalid"] }],
    ["page[a]=1", { page: ["is invalid"] }],
    ["page[a][b]=1", { page: ["is invalid"] }],
    ["per_page=x", { per_page: ["is invalid"] }],
    ["per_page[a]=1", { per_page: ["is invalid"] }],
    ["per_page=0", { per_page: ["has a value not allowed"] }], // 277
    ["per_page=-0", { per_page: ["has a value not allowed"] }],
  ])("refuses ?%s", async (query, message) => {
    const { status, json } = await call(`GET /groups/three/labels?${query}`);
    expect([status, json]).toEqual([400, { message }]);
  });

  it("has the clamped page in its links", async () => {
    const { headers } = await call("GET /groups/full/labels?per_page=500&page=-1");
    expect(links(headers)).toEqual({
      next: "http://pm.test/api/v4/groups/full/labels?page=2&per_page=100",
      first: "http://pm.test/api/v4/groups/full/labels?page=1&per_page=100",
      last: "http://pm.test/api/v4/groups/full/labels?page=2&per_page=100",
    });
  });

  it("278: repeats the other parameters in every link, sorted by key", async () => {
    const { headers } = await call(
      "GET /groups/full/labels?search=label&foo=bar&per_page=50&page=2&bar=baz&a[]=1&a[]=2,3&x=%C3%A9+%26",
    );
    const kept = "a%5B%5D=1&a%5B%5D=2%2C3&bar=baz&foo=bar";
    const at = "http://pm.test/api/v4/groups/full/labels";
    const tail = "per_page=50&search=label&x=%C3%A9+%26";
    expect(links(headers)).toEqual({
      prev: `${at}?${kept}&page=1&${tail}`,
      next: `${at}?${kept}&page=3&${tail}`,
      first: `${at}?${kept}&page=1&${tail}`,
      last: `${at}?${kept}&page=3&${tail}`,
    });
    // Clients split the header at commas.
    expect(headers.get("link")?.split(", ")).toHaveLength(4);
    expect(headers.get("link")?.match(/,/g)).toHaveLength(3);
  });

  it.each([
    "private_token=token-of-owner",
    "access_token=token-of-owner",
    "bearer_token=token-of-owner",
    "private%5Ftoken=token-of-owner",
    "job_token=token-of-owner&private_token=token-of-owner",
    "private_token=old&private_token=token-of-owner",
  ])("never shows the credentials of ?%s in a link", async (query) => {
    const { status, headers } = await app.call(`GET /groups/three/labels?per_page=1&${query}`);
    expect(status).toBe(200);
    expect(headers.get("link")).not.toMatch(/token|old/);
    expect(Object.keys(links(headers))).toEqual(["next", "first", "last"]);
  });

  it("keeps the path as called, and its links can be followed", async () => {
    const { headers } = await call("GET /projects/acme%2Fsite/labels?per_page=2");
    expect(links(headers)["first"]).toBe(
      "http://pm.test/api/v4/projects/acme%2Fsite/labels?page=1&per_page=2",
    );
    const seen: string[] = [];
    let next: string | undefined = "http://pm.test/api/v4/groups/full/labels?per_page=50";
    while (next) {
      const answer = await call(`GET ${next.slice("http://pm.test".length)}`);
      seen.push(...answer.json.map(({ name }: { name: string }) => name));
      next = links(answer.headers)["next"];
    }
    expect(seen).toHaveLength(120);
    expect(new Set(seen).size).toBe(120);
    expect(seen).toEqual(seen.toSorted());
  });

  it("has the same headers for HEAD and GET", async () => {
    const get = await call("GET /groups/three/labels?per_page=2");
    const head = await call("HEAD /groups/three/labels?per_page=2");
    expect([head.status, head.text]).toEqual([200, ""]);
    for (const name of ["link", "x-total", "x-total-pages", "x-page", "x-next-page", "etag"]) {
      expect([name, head.headers.get(name)]).toEqual([name, get.headers.get(name)]);
    }
  });

  it("is absent from answers that are not lists", async () => {
    const { headers } = await call("GET /groups/three");
    for (const name of ["link", "x-total", "x-page", "x-per-page"]) {
      expect(headers.get(name)).toBeNull();
    }
  });
});

describe("with a public address", () => {
  it("has links below that, regardless of the request's host", async () => {
    const behind = await testApp({ url: "https://pm.example.com/prefix/" });
    const { headers } = await call("GET /groups/acme/labels?per_page=1", {}, behind);
    expect(links(headers)["next"]).toBe(
      "https://pm.example.com/prefix/api/v4/groups/acme/labels?page=2&per_page=1",
    );
    await behind.dispose();
  });
});

describe("280: more items than the counting limit", () => {
  let counting: TestApp;
  beforeAll(async () => {
    const labels = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ name: `label ${index}` }));
    counting = await testApp({
      limits: { countedTotal: 10 },
      seed: {
        ...baseSeed,
        groups: [
          { path: "ten", visibility: "public", labels: labels(10) },
          { path: "eleven", visibility: "public", labels: labels(11) },
        ],
      },
    });
  });
  afterAll(() => counting.dispose());

  it("omits totals and the last page", async () => {
    const { headers } = await call("GET /groups/eleven/labels?per_page=4&page=2", {}, counting);
    for (const name of ["x-total", "x-total-pages"]) expect(headers.has(name)).toBe(false);
    expect(await paging("GET /groups/eleven/labels?per_page=4&page=2", counting)).toEqual({
      items: 4,
      total: undefined,
      pages: undefined,
      size: "4",
      page: "2",
      next: "3",
      previous: "1",
      links: "prev next first",
    });
  });

  it.each([
    ["per_page=4&page=1", { items: 4, next: "2", previous: "", links: "next first" }],
    ["per_page=4&page=3", { items: 3, next: "", previous: "2", links: "prev first" }],
    ["per_page=20", { items: 11, next: "", previous: "", links: "first" }],
    ["per_page=11", { items: 11, next: "", previous: "", links: "first" }],
    ["per_page=4&page=9", { items: 0, next: "", previous: "", links: "first" }],
  ])("omits them at ?%s", async (query, expected) => {
    expect(await paging(`GET /groups/eleven/labels?${query}`, counting)).toMatchObject({
      ...expected,
      total: undefined,
      pages: undefined,
    });
  });

  it("includes them up to that number", async () => {
    for (const query of ["per_page=4", "per_page=4&page=3", "per_page=10", "page=7&per_page=5"]) {
      const { total, links: found } = await paging(`GET /groups/ten/labels?${query}`, counting);
      expect([query, total]).toEqual([query, "10"]);
      expect(found).toContain("last");
    }
  });
});

describe("page sizes", () => {
  it("can be limited by an option", async () => {
    const small = await testApp({ limits: { perPage: 1, maxPerPage: 2 } });
    expect(await paging("GET /groups/acme/labels", small)).toMatchObject({ items: 1, size: "1" });
    expect(await paging("GET /groups/acme/labels?per_page=100", small)).toMatchObject({
      items: 2,
      size: "2",
      pages: "2",
    });
    await small.dispose();
  });
});

describe("keyset pagination", () => {
  let keyed: TestApp;
  let all: number[];
  beforeAll(async () => {
    keyed = await testApp({
      seed: {
        ...baseSeed,
        groups: [
          {
            path: "open",
            visibility: "public",
            projects: Array.from({ length: 7 }, (_, index) => ({
              path: `p${index}`,
              visibility: index % 3 === 0 ? "private" : "public",
            })),
          },
        ],
      },
    });
    const { json } = await keyed.call("GET /projects?order_by=id&sort=asc", { as: "stranger" });
    all = json.map(({ id }: { id: number }) => id);
    expect(all).toHaveLength(4);
  });
  afterAll(() => keyed.dispose());

  const KEYSET = "/projects?pagination=keyset&order_by=id";
  const page = async (request: string) => {
    const answer = await keyed.call(request, { as: "stranger" });
    expect([request, answer.status]).toEqual([request, 200]);
    const others = [...answer.headers.keys()].filter((name) =>
      /^x-(total|page|per|next|prev)/.test(name),
    );
    expect(others).toEqual([]);
    return {
      ids: answer.json.map(({ id }: { id: number }) => id) as number[],
      links: links(answer.headers),
      link: answer.headers.get("link"),
    };
  };

  it("281: links to the next page by the last id, and to nothing else", async () => {
    const { ids, link } = await page(`GET ${KEYSET}&sort=asc&per_page=1`);
    expect(ids).toEqual([all[0]]);
    expect(link).toBe(
      `<http://pm.test/api/v4/projects?id_after=${all[0]}&order_by=id&pagination=keyset&per_page=1&sort=asc>; rel="next"`,
    );
  });

  it("284: descends by id_before, which is the default order", async () => {
    for (const sort of ["&sort=desc", ""]) {
      const { ids, links: found } = await page(`GET ${KEYSET}${sort}&per_page=2`);
      expect(ids).toEqual([all[3], all[2]]);
      expect(new URL(found["next"] as string).searchParams.get("id_before")).toBe(String(all[2]));
      expect(found["next"]).not.toContain("id_after");
    }
  });

  it("283: ends with an empty page without a link", async () => {
    for (const query of [`sort=asc&id_after=${all[3]}`, `sort=desc&id_before=${all[0]}`]) {
      expect(await page(`GET ${KEYSET}&${query}`)).toEqual({ ids: [], links: {}, link: null });
    }
    const full = await page(`GET ${KEYSET}&sort=asc&per_page=4`);
    expect(full.ids).toEqual(all);
    expect(Object.keys(full.links)).toEqual(["next"]);
  });

  it.each([
    ["asc", 1],
    ["asc", 2],
    ["asc", 3],
    ["desc", 1],
    ["desc", 3],
    ["desc", 100],
  ])("286: visits every project once, %s by %s", async (sort, size) => {
    const seen: number[] = [];
    let next: string | undefined =
      `http://pm.test/api/v4${KEYSET}&sort=${sort}&per_page=${size}&simple=true`;
    for (let pages = 0; next && pages < 10; pages += 1) {
      const found = await page(`GET ${next.slice("http://pm.test".length)}`);
      seen.push(...found.ids);
      next = found.links["next"];
      if (next) expect(next).toContain("simple=true");
    }
    expect(seen).toEqual(sort === "asc" ? all : all.toReversed());
    expect(next).toBeUndefined();
  });

  it("keeps filters, and drops page", async () => {
    const { links: found } = await page(
      `GET ${KEYSET}&sort=asc&per_page=1&search=p&page=3&private_token=token-of-stranger`,
    );
    const query = Object.fromEntries(new URL(found["next"] as string).searchParams);
    expect(query).toEqual({
      id_after: String(all[0]),
      order_by: "id",
      pagination: "keyset",
      per_page: "1",
      search: "p",
      sort: "asc",
    });
  });

  it("shows only what the caller can see", async () => {
    const anonymous = await keyed.call(`GET ${KEYSET}&sort=asc`);
    expect(anonymous.json.map(({ id }: { id: number }) => id)).toEqual(all);
    const admin = await keyed.call(`GET ${KEYSET}&sort=asc`, { as: "admin" });
    expect(admin.json).toHaveLength(7);
  });

  it("accepts the sizes of offset pages", async () => {
    expect((await page(`GET ${KEYSET}&per_page=500`)).links["next"]).toContain("per_page=500");
    expect((await page(`GET ${KEYSET}&per_page=-1`)).ids).toHaveLength(4);
  });

  it.each(["&order_by=name", "&order_by=created_at", ""])(
    "is 405 in an order without a key: %j",
    async (order) => {
      const { status, json } = await keyed.call(`GET /projects?pagination=keyset${order}`);
      expect([status, json]).toEqual([
        405,
        { error: "Keyset pagination is not yet available for this type of request" },
      ]);
    },
  );

  it.each([
    ["pagination=cursor", { pagination: ["does not have a valid value"] }],
    ["pagination=keyset&order_by=id&sort=up", { sort: ["does not have a valid value"] }],
    ["pagination=keyset&order_by=id&id_after=x", { id_after: ["is invalid"] }],
    ["pagination=keyset&order_by=id&id_before[]=1", { id_before: ["is invalid"] }],
    ["pagination=keyset&order_by=size", { order_by: ["does not have a valid value"] }],
    ["pagination=keyset&order_by=id&per_page=0", { per_page: ["has a value not allowed"] }],
  ])("refuses ?%s", async (query, message) => {
    const { status, json } = await keyed.call(`GET /projects?${query}`);
    expect([status, json]).toEqual([400, { message }]);
  });

  it("is ignored by lists that don't support it, and id_after filters offset pages too", async () => {
    const labels = await keyed.call("GET /groups/open/labels?pagination=keyset", {
      as: "stranger",
    });
    expect([labels.status, labels.headers.get("x-page")]).toEqual([200, "1"]);
    const { json, headers } = await keyed.call(
      `GET /projects?order_by=id&sort=asc&id_after=${all[0]}&id_before=${all[3]}`,
    );
    expect(json.map(({ id }: { id: number }) => id)).toEqual([all[1], all[2]]);
    expect(headers.get("x-total")).toBe("2");
  });
});

describe("every list", () => {
  /** A size that is not the usual one, and more records than fit into such a page. */
  const SIZE = 15;
  const MANY = SIZE + 1;
  let full: TestApp;
  let places: Places;
  beforeAll(async () => {
    full = await testApp({ seed: fixtureSeed(MANY), extra: toys });
    await createFixtures(full, MANY);
    places = await placesIn(full, "acme", "acme/site");
  });
  afterAll(() => full.dispose());

  const addFixture = (route: Route) => {
    const { name } = resourceOf(route);
    return `add to the fixture "${name}" in test/fixtures.ts what creates these records`;
  };
  /** Lists whose length nobody chooses, and records that requests alone don't make. Their own tests cover them. */
  const OTHERS: Readonly<Record<string, string>> = {
    "/features/definitions": "there are none",
    "/bulk_imports": "only another server makes them: see bulk-imports.test.ts",
    "/bulk_imports/entities": "likewise",
    "/bulk_imports/:import_id": "likewise",
    "/bulk_imports/:import_id/entities": "likewise",
    "/bulk_imports/:import_id/entities/:entity_id": "likewise",
    "/bulk_imports/:import_id/entities/:entity_id/failures": "likewise",
    "/projects/:id/clusters": "likewise",
    "/groups/:id/clusters": "likewise",
    "/groups/:id/manage/personal_access_tokens": "likewise",
    "/groups/:id/manage/ssh_keys": "likewise",
    "/groups/:id/ssh_certificates": "likewise",
    "/groups/:id/uploads": "likewise",
    "/projects/:id/vulnerabilities": "likewise",
    "/projects/:id/remote_mirrors/:mirror_id/public_key": "mirrors have none",
    "/projects/:id/cluster_agents": "likewise",
    "/groups/:id/ldap_group_links": "likewise",
    "/groups/:id/saml_group_links": "likewise",
    "/groups/:id/enterprise_users": "likewise",
    "/projects/:id/attestations/:subject_digest": "likewise",
    "/projects/:id/merge_requests/:merge_request_iid/context_commits": "it has no pages",
    "/projects/:id/repository/tags/:tag_name/signature": "only a signed tag has one",
    "/projects/:id/issues/:issue_iid/user_agent_detail": "only what came from an address has one",
    "/projects/:id/snippets/:snippet_id/user_agent_detail": "likewise",
    "/snippets/:snippet_id/user_agent_detail": "likewise",
    "/projects/:id/remote_mirrors": "there are at most ten",
    "/groups/:id/provisioned_users": "only identity providers make them",
    "/groups/:id/billable_members": "those of the fixtures are guests, who are none",
    "/groups/:id/billable_members/:user_id/memberships": "there are as many as memberships of one",
    "/groups/:id/billable_members/:user_id/indirect": "likewise",
    "/groups/:id/protected_environments": "there are as many as tiers",
    "/groups/:id/milestones/:milestone_id/burndown_events": "only milestones with dates have some",
    "/projects/:id/milestones/:milestone_id/burndown_events": "likewise",
    "/projects/:id/groups": "there are as many as groups around it",
    "/groups/:id/projects/shared": "there are none",
    "/templates/dockerfiles": "there are as many as come with the application",
    "/templates/gitlab_ci_ymls": "likewise",
    "/templates/licenses": "likewise",
    "/projects/:id/templates/:type": "likewise",
    "/projects/:id/pipelines/:pipeline_id/variables": "it has no pages",
    "/projects/:id/hooks/:hook_id/events": "they are made by deliveries",
    "/groups/:id/hooks/:hook_id/events": "likewise",
    "/projects/:id/merge_requests/:merge_request_iid/pipelines": "they are made in the background",
    "/projects/:id/deployments/:deployment_id/merge_requests": "merges of code make them",
    "/projects/:id/pipelines/latest": "the default branch has none",
    "/projects/:id/jobs/:job_id/artifacts": "only jobs that run store them",
    "/projects/:id/jobs/:job_id/artifacts/tree": "likewise",
    "/projects/:id/export/download": "a worker writes it",
    "/groups/:id/export/download": "likewise",
    "/groups/:id/export_relations/download": "likewise",
    "/projects/:id/export_relations/download": "likewise",
    "/groups/:id/export_relations/status": "there are as many as relations",
    "/projects/:id/export_relations/status": "likewise",
    "/projects/:id/jobs/:job_id/artifacts/:artifact_path*": "likewise",
    "/job": "only a job that runs gets it",
    "/projects/:id/uploads/:secret/:file_name": "nobody guesses the secret",
  };
  const reading = routes.filter(({ method, path }) => method === "GET" && !(path in OTHERS));
  const lists: string[] = [];

  it.each(reading.map((route) => [route.path, route] as const))(
    "GET %s takes the same number of statements for 1 item and for many",
    async (_, route) => {
      const path = pathOf(route, places);
      for (const as of ["owner", "admin"] as const) {
        const ask = async (size: number) => {
          full.statements.length = 0;
          const answer = await full.call(`GET ${path}?per_page=${size}`, { as });
          // Packs are read once.
          const statements = full.statements.filter(
            (sql) => !/from git_(repository_packs|pack_)/.test(sql),
          );
          return { ...answer, statements };
        };
        if (route.access === "admin" && as !== "admin") continue;
        const one = await ask(1);
        if (as === "admin" && one.status === 404) {
          throw new Error(`GET ${path} is 404: ${addFixture(route)}`);
        }
        if (!Array.isArray(one.json)) continue;
        lists.push(route.path);
        const page = await ask(SIZE);
        if (page.json.length < SIZE) {
          const listed = `lists ${page.json.length} of ${MANY} records to ${as}`;
          throw new Error(`GET ${route.path} ${listed}: ${addFixture(route)}`);
        }
        expect([one.json.length, page.json.length]).toEqual([1, SIZE]);
        const texts = page.statements.join("\n");
        expect(page.statements.length, texts).toBe(one.statements.length);
        expect(page.statements.length).toBeLessThanOrEqual(12);
        for (const name of ["x-total", "x-total-pages", "x-per-page", "x-page", "link"]) {
          expect([name, page.headers.has(name)]).toEqual([name, true]);
        }
        expect(page.headers.get("x-next-page")).toBe("2");
        const next = await full.call(`GET ${path}?per_page=${SIZE}&page=2`, { as });
        expect(next.json.length).toBeGreaterThan(0);
        // Dependencies have no id: the whole record identifies them.
        const ids = [...page.json, ...next.json].map((item) => item.id ?? JSON.stringify(item));
        expect(new Set(ids).size).toBe(ids.length);
      }
    },
  );

  it("every list was covered", () => {
    expect(new Set(lists).size).toBeGreaterThanOrEqual(25);
  });
});

describe("a long query", () => {
  const query = (length: number) => `search=${"x".repeat(length)}`;

  it("is repeated in as many links as there is room for", async () => {
    const path = "/groups/acme/labels?per_page=1&page=2&x=";
    const { headers } = await call(`GET ${path}${"y".repeat(3000)}`);
    const link = headers.get("link") as string;
    expect(link).toContain('rel="next"');
    expect(link.length).toBeLessThan(4200);
    const longer = (await call(`GET ${path}${"y".repeat(8000)}`)).headers.get("link");
    expect(longer).toMatch(/^<[^>]*page=3[^>]*>; rel="next"$/);
  });

  it("is 414 if no link can repeat it", async () => {
    const { status, json } = await call(`GET /groups/acme/labels?${query(9000)}`);
    expect([status, json]).toEqual([414, { error: "414 Request-URI Too Large" }]);
    expect((await call(`GET /groups/acme/labels?x=${"[".repeat(5000)}`)).status).toBe(414);
  });
});
