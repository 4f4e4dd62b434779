import type { App } from "../../src/index.ts";
import { MEMBER_OF_ALL } from "./events.ts";
import { CALLER } from "./seed.ts";

/** Headers of every benchmark request. The host is the same for all contenders, since answers contain links. */
export const HEADERS = { host: "pm.test", "private-token": CALLER.token };

/** A request sent to every contender. */
export interface Operation {
  name: string;
  method: "GET" | "POST" | "PUT" | "PATCH";
  /** The path below {@link base}. */
  path: string;
  /** Default `/api/v4`. */
  base?: string;
  /** Used instead of the caller's token in {@link HEADERS}. */
  token?: string;
  /** The `Authorization` header, instead of a token. */
  authorization?: string;
  /** Of a visitor who is signed in. */
  cookie?: string;
  /** JSON. */
  body?: string;
  /** What differs from request to request, given how many a server has got before. */
  each?: (before: number) => { path?: string; body?: string; authorization?: string };
  /** The minimum acceptable share of the bare server's rate. */
  floor: number;
}

/** The operations on the seeded data. */
export async function operationsOn(app: App): Promise<Operation[]> {
  const ask = async (path: string) => {
    const response = await app.fetch(
      new Request(`http://pm.test/api/v4${path}`, { headers: HEADERS }),
    );
    if (!response.ok) throw new Error(`${path}: ${response.status}`);
    return response.json();
  };
  const [board] = (await ask("/groups/acme/boards")) as { id: number; lists: { id: number }[] }[];
  const [project] = (await ask("/projects?membership=true&min_access_level=20")) as {
    id: number;
  }[];
  const list = board?.lists[5];
  if (!list || !project) throw new Error("the seed has no board with lists or no own project");
  const lists = `/groups/acme/boards/${board.id}/lists`;
  return [
    { name: "one board list", method: "GET", path: `${lists}/${list.id}`, floor: 0.4 },
    { name: "20 board lists", method: "GET", path: lists, floor: 0.5 },
    { name: "20 projects", method: "GET", path: "/projects?per_page=20", floor: 0.5 },
    {
      name: "20 projects by key",
      method: "GET",
      path: "/projects?pagination=keyset&order_by=id&per_page=20",
      floor: 0.5,
    },
    {
      name: "create a label",
      method: "POST",
      path: `/projects/${project.id}/labels`,
      each: (before) => ({
        body: JSON.stringify({ name: `bench-${before}`, color: "#428bca", description: "Made" }),
      }),
      floor: 0.4,
    },
    {
      name: "a wiki page of 20 KB",
      method: "GET",
      path: "/projects/acme%2Fproject-0/wikis/Page-00",
      floor: 0.4,
    },
    {
      name: "20 wiki pages with content",
      method: "GET",
      path: "/projects/acme%2Fproject-0/wikis?with_content=1",
      floor: 0.5,
    },
    {
      name: "20 badges, rendered",
      method: "GET",
      path: "/projects/acme%2Fproject-0/badges",
      floor: 0.5,
    },
    {
      name: "100 of 500 dependencies",
      method: "GET",
      path: "/projects/acme%2Fproject-0/dependencies?per_page=100",
      floor: 0.5,
    },
  ];
}

/** The id of the benchmark's caller. */
export async function idOfCaller(app: App): Promise<string> {
  const response = await app.fetch(new Request("http://pm.test/api/v4/user", { headers: HEADERS }));
  const { id } = (await response.json()) as { id: number };
  return String(id);
}

/** The operations on a million events: see {@link withEvents} in events.ts. */
export const EVENT_OPERATIONS: readonly Operation[] = [
  {
    name: "20 events of a project",
    method: "GET",
    path: "/projects/acme%2Fproject-0/events",
    floor: 0.5,
  },
  {
    name: "20 events of a user",
    method: "GET",
    path: "/users/user2/events",
    // A caller who may see all of them, as the bare server assumes.
    token: MEMBER_OF_ALL.token,
    floor: 0.5,
  },
  { name: "20 events of the caller", method: "GET", path: "/events", floor: 0.5 },
  { name: "20 events of 30 projects", method: "GET", path: "/events?scope=all", floor: 0.5 },
];
