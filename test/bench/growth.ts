import { type App, createApp } from "../../src/index.ts";
import { openStore } from "../../src/store/open.ts";
import type { Store } from "../../src/store/port.ts";
import { CALLERS } from "./grown.ts";

/** A list, and the callers who may read it. */
type List = readonly [path: string, callers: readonly (keyof typeof CALLERS)[]];

const EVERYBODY = ["admin", "member", "visitor"] as const;
const SIGNED_IN = ["admin", "member"] as const;

const SEARCHES = [
  "everywhere",
  "halfword",
  "tenthword",
  "hundredthword",
  "thousandthword",
  "number777",
  "nosuchword",
  "école",
  "ZQ",
  "er",
  "e",
  "qx",
].map((word) => `search=${encodeURIComponent(word)}`);

const FILTERS = [
  "",
  "state=closed",
  "labels=none",
  "labels=any",
  "labels=label3",
  "labels=label3,label4",
  "labels=nosuch",
  "milestone=none",
  "milestone=any",
  "milestone=milestone4",
  "milestone=nosuch",
  "assignee_id=any",
  "assignee_id=none",
  "assignee_id=9",
  "author_id=9",
  "author_username=user9",
  "my_reaction_emoji=any",
  "order_by=updated_at",
  "sort=asc",
  "order_by=updated_at&sort=asc",
  "created_after=2020-01-01T00:10:00Z&created_before=2020-01-01T00:15:00Z",
  "updated_after=2020-01-01T00:00:00Z",
  "scope=assigned_to_me",
  "scope=created_by_me",
  "page=2",
];
const ISSUE_FILTERS = ["confidential=true", "confidential=false"];
const REQUEST_FILTERS = ["target_branch=stable", "target_branch=nosuch"];

function issuables(path: string, own: readonly string[]): List[] {
  const places = ["", "/projects/1", "/projects/3", "/groups/ours"];
  return places.flatMap((place) =>
    [...FILTERS, ...own, ...SEARCHES].map(
      (filter): List => [
        `${place}/${path}?${place === "" && !filter.includes("scope=") ? "scope=all&" : ""}${filter}`,
        place === "/projects/3" ? ["admin"] : filter.startsWith("scope=") ? SIGNED_IN : EVERYBODY,
      ],
    ),
  );
}

const SPAN = "after=2020-01-01T00:10:00Z";

/** Lists of pipelines, and of what belongs to them. */
function pipelines(): List[] {
  const filters: Record<string, readonly string[]> = {
    "/projects/1/pipelines": [
      ...["", "page=2", "sort=asc", "scope=running", "scope=pending", "scope=finished"],
      ...["scope=branches", "status=failed", "status=canceled", "status=running", "source=push"],
      ...[
        "source=web",
        "source=schedule",
        "ref=main",
        "ref=branch-7",
        "ref=nosuch",
        "name=Nightly",
      ],
      ...["username=member", "username=nobody", "yaml_errors=true", "yaml_errors=false"],
      ...[`sha=${"100".padStart(40, "0")}`, "status=canceled&ref=main", "status=failed&source=web"],
      ...["status=canceled&username=member", "ref=main&order_by=updated_at&status=canceled"],
      ...[`created_${SPAN}`, `updated_${SPAN}`, "updated_before=2020-01-01T00:10:00Z"],
      ...["order_by=status", "order_by=ref", "order_by=updated_at", "order_by=user_id"],
      ...["order_by=updated_at&ref=main", "order_by=updated_at&status=failed"],
      ...["order_by=ref&sort=asc&status=canceled", "order_by=user_id&source=web"],
    ],
    "/projects/1/pipelines/latest": ["ref=main"],
    "/projects/1/pipelines/7/jobs": ["", "include_retried=true", "scope[]=success"],
    "/projects/1/pipelines/7/bridges": [""],
    "/projects/1/jobs": [
      ...["", "page=2", "scope[]=failed", "scope[]=canceled", "scope[]=running", "ref=main"],
      ...[
        "scope[]=failed&scope[]=canceled",
        "ref=branch-7",
        "ref=nosuch",
        "ref=main&scope[]=canceled",
      ],
    ],
    "/projects/1/environments": [
      ...[
        "",
        "page=2",
        "name=env-7",
        "search=env-7",
        "search=nosuch",
        "states=stopped",
        "states=stopping",
      ],
    ],
    "/projects/1/deployments": [
      ...["", "page=2", "sort=desc", "status=failed", "status=canceled", "status=blocked"],
      ...[
        "environment=env-1",
        "environment=env-7",
        "environment=env-1&status=canceled",
        "order_by=ref",
      ],
      ...["order_by=updated_at", "order_by=created_at", "order_by=iid", "order_by=finished_at"],
      ...[`order_by=updated_at&updated_${SPAN}`, "order_by=updated_at&status=canceled"],
      ...[
        `order_by=finished_at&status=success&finished_${SPAN}`,
        "environment=env-1&order_by=updated_at",
      ],
    ],
  };
  const lists = Object.entries(filters).flatMap(([path, of]) =>
    of.map((filter): List => [`${path}?${filter}`, ["member"]]),
  );
  const ofRunner = ["", "page=2", "sort=asc", "status=failed", "status=canceled", "status=running"];
  return [
    ...lists,
    ...ofRunner.map((filter): List => [`/runners/1/jobs?${filter}`, ["admin"]]),
    ["/projects/1/runners?", ["admin"]],
    ["/runners/all?", ["admin"]],
  ];
}

/** What tells who is let in. */
const ACCESS: readonly List[] = [
  ["/users/9/memberships?", ["admin"]],
  ["/users/9/memberships?page=2", ["admin"]],
  ["/projects/1/job_token_scope?", ["admin"]],
  ["/projects/1/job_token_scope/allowlist?", ["admin"]],
  ["/projects/1/job_token_scope/groups_allowlist?", ["admin"]],
  ["/projects/1/protected_branches?", SIGNED_IN],
  ["/projects/1/protected_branches?search=release-7", SIGNED_IN],
  ["/projects/1/protected_branches/release-7?", SIGNED_IN],
  ["/projects/former%2Fproject-1?", EVERYBODY],
  ["/projects/former%2Fproject-1/issues?", EVERYBODY],
];

/** Every list that is measured. */
const LISTS: readonly List[] = [
  ...issuables("issues", ISSUE_FILTERS),
  ...issuables("merge_requests", REQUEST_FILTERS),
  ...[
    "",
    "search=project",
    "search=project-7",
    "search=nosuch",
    "order_by=name",
    "membership=true",
  ].map((filter): List => [`/projects?${filter}`, SIGNED_IN]),
  ...["", "search=user", "search=user7", "search=nosuch", "order_by=name"].map(
    (filter): List => [`/users?${filter}`, SIGNED_IN],
  ),
  ...["labels", "milestones", "members", "members/all", "events", "snippets"].map(
    (kind): List => [`/projects/1/${kind}?`, SIGNED_IN],
  ),
  ["/projects/1/labels?search=label7", SIGNED_IN],
  ["/projects/1/labels/label4?", SIGNED_IN],
  ["/projects/1/milestones?search=milestone4", SIGNED_IN],
  ["/groups/ours/projects?", EVERYBODY],
  ["/todos?", ["member"]],
  ["/todos?type=Issue", ["member"]],
  ["/todos?project_id=1", ["member"]],
  ...pipelines(),
  ...ACCESS,
  ["/projects/1/issues/998?", EVERYBODY],
  ["/projects/1/issues/998/notes?", SIGNED_IN],
  ["/projects/1?", EVERYBODY],
];

/** Milliseconds of CPU that a list takes among few and among many rows. */
export interface Growth {
  list: string;
  caller: string;
  few: number;
  many: number;
}

/** A read may take this much longer among a million rows than among a thousand. */
const ALLOWED = 1.5;
/** Differences below this many milliseconds are not told apart from noise. */
const NOISE = 0.5;

/** Whether a list takes longer among many rows than it may. */
export function exceeds({ few, many }: Growth): boolean {
  return many > few * ALLOWED && many - few > NOISE;
}

/**
 * Measures every list on two databases of {@link grow}. Before each read somebody else writes, so that nothing is kept.
 *
 * @param only part of the paths to measure
 */
export async function measureGrowth(
  databases: { few: string; many: string },
  { rounds, only, say }: { rounds: number; only: string; say: (text: string) => void },
): Promise<Growth[]> {
  const few = await opened(databases.few);
  const many = await opened(databases.many);
  const measured: Growth[] = [];
  for (const [list, callers] of LISTS.filter(([path]) => path.includes(only))) {
    for (const caller of callers) {
      const growth = {
        list,
        caller,
        few: await cost(few, list, caller, rounds),
        many: await cost(many, list, caller, rounds),
      };
      if (exceeds(growth)) say(lineOf(growth));
      measured.push(growth);
    }
  }
  for (const { app, store } of [few, many]) {
    await app.close();
    await store.close();
  }
  return measured;
}

/** A measurement as a line of text. */
export function lineOf({ list, caller, few, many }: Growth): string {
  const times = (many / few).toFixed(1);
  return `${few.toFixed(2).padStart(8)} ${many.toFixed(2).padStart(9)} ${times.padStart(7)}  ${caller.padEnd(8)} ${list}`;
}

interface Opened {
  app: App;
  /** A connection of somebody else. */
  store: Store;
}

async function opened(database: string): Promise<Opened> {
  return {
    app: await createApp({ database, background: false }),
    store: await openStore(database),
  };
}

/** A read that takes longer than this many milliseconds is not repeated. */
const LONG = 300;

async function cost(
  { app, store }: Opened,
  list: string,
  caller: keyof typeof CALLERS,
  rounds: number,
): Promise<number> {
  const token = CALLERS[caller];
  const headers: HeadersInit = token === undefined ? {} : { "private-token": token };
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round <= rounds; round += 1) {
    await store.transaction((db) => db.run("update users set bio = ? where id = 1", [`${round}`]));
    const before = process.cpuUsage();
    const response = await app.fetch(new Request(`http://pm.test/api/v4${list}`, { headers }));
    await response.arrayBuffer();
    const { user, system } = process.cpuUsage(before);
    if (response.status >= 400) throw new Error(`${list} as ${caller}: ${response.status}`);
    least = Math.min(least, (user + system) / 1000);
    if (least > LONG) break;
  }
  return least;
}
