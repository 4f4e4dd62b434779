// What programs made for GitLab call, and whether there is such a route: coverage.md and coverage.json. calls.tsv has the
// calls that nine clients are able to make, from their sources: methods, paths with `:x` for what varies, and who makes them.
import { readFileSync } from "node:fs";
import { createApp } from "../../src/app.ts";
import { allMounts } from "../../src/mounts.ts";

/** A call that a client is able to make. */
interface Call {
  method: string;
  /** Below `/api/v4`. */
  path: string;
  programs: string[];
}

/** What becomes of a call. `left out`: there will be none, for a reason. */
type Status = "works" | "missing" | "left out";

/** A call with what becomes of it. */
interface Covered extends Call {
  status: Status;
  /** Why it is left out. */
  reason?: string;
}

/** What is left out for good, and why. The first that fits counts. */
const LEFT_OUT: readonly (readonly [RegExp, string])[] = [
  [/^\/geo_/, "Geo: there is one place"],
  [/^\/sidekiq/, "Sidekiq: there is none; `pm-cli jobs list` shows background work"],
  [/^\/license/, "licences: there are none"],
  [
    /ldap|\/saml|enterprise_users|provider_identity|\/manage\/|members\/:x\/override/,
    "groups of LDAP and SAML, and their users",
  ],
  [/cluster|\/agents\b|\/orbit/, "Kubernetes: clusters and their agents"],
  [/error_tracking/, "error tracking"],
  [/\/ml\/|model_registry|\/models\b|ml_models/, "model registry"],
  [/\/tags\/:x\/release$/, "releases of tags, which GitLab 14 has replaced with `/releases`"],
  [/^\/admin\/(migrations|batched_background_migrations)/, "migrations of GitLab's own database"],
  [/\/duo|code_suggestions|\/chat\//, "Duo"],
  [/usage_data|product_analytics|service_ping/, "what GitLab reports of its use"],
  [/repository_storage_moves/, "moves between Gitaly's storages: a database holds everything"],
  [/runner_controllers/, "controllers of runners, an experiment of GitLab's"],
];

function readCalls(): Call[] {
  const [, ...lines] = readFileSync(new URL("calls.tsv", import.meta.url), "utf8")
    .trimEnd()
    .split("\n");
  return lines.map((line) => {
    const [method = "", path = "", programs = ""] = line.split("\t");
    return { method, path, programs: programs.split(" ") };
  });
}

/** Words that clients put in places of paths that vary, such as the kind of what has notes. */
function wordsAt(path: string, method: string): string[] {
  const parts = path.split("/");
  const fitting = allMounts
    .flatMap(({ base, resources }) => (base === "/api/v4" ? resources : []))
    .flatMap(({ routes }) => routes)
    .filter((route) => route.method === method)
    .map((route) => route.path.replace(/^\/(projects|groups)\/:\w+\*/, "/$1/:id").split("/"))
    .filter(
      (route) =>
        route.length === parts.length &&
        route.every((part, at) => part === parts[at] || (parts[at] as string).startsWith(":")),
    );
  return fitting.map((route) => route.map((part) => (part.startsWith(":") ? "1" : part)).join("/"));
}

/** All calls with what becomes of them, which is tried: an application says of a path whether it has it. */
async function covered(): Promise<Covered[]> {
  const app = await createApp({ background: false });
  const exists = async (method: string, path: string) => {
    const response = await app.fetch(`http://localhost/api/v4${path}`, { method });
    const body = await response.text();
    return !(response.status === 405 || (response.status === 404 && isUnknown(body)));
  };
  const all: Covered[] = [];
  try {
    for (const call of readCalls()) {
      const paths = [call.path.replace(/:\w+\*?/g, "1"), ...wordsAt(call.path, call.method)];
      let works = false;
      for (const path of paths) works ||= await exists(call.method, path);
      const [, reason] = LEFT_OUT.find(([pattern]) => pattern.test(call.path)) ?? [];
      if (works) all.push({ ...call, status: "works" });
      else if (reason) all.push({ ...call, status: "left out", reason });
      else all.push({ ...call, status: "missing" });
    }
  } finally {
    await app.close();
  }
  return all;
}

/** What the API answers for paths that it doesn't have. */
function isUnknown(body: string): boolean {
  return body === JSON.stringify({ error: "404 Not Found" });
}

/** README.md with today's figures between its marks. */
export async function readme(): Promise<string> {
  const calls = (await covered()).filter(({ status }) => status !== "left out");
  const of = (least: number) => {
    const some = calls.filter(({ programs }) => programs.length >= least);
    return `${some.filter(({ status }) => status === "works").length} of the ${some.length}`;
  };
  const text = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
  const figures = `Of nine clients of GitLab, ${of(6)} REST calls that six or more can make have a route here,
and ${of(2)} that two or more can make (coverage, below).`;
  return text.replace(
    /(<!-- coverage -->\n)[\s\S]*?(\n<!-- end -->)/,
    (_, start, end) => start + figures + end,
  );
}

const percent = (part: number, whole: number) => `${Math.round((100 * part) / whole)} %`;

/** coverage.json. */
export async function coverageJson(): Promise<string> {
  const calls = await covered();
  return `[\n${calls.map((call) => JSON.stringify(call)).join(",\n")}\n]\n`;
}

/** coverage.md. */
export async function coverage(): Promise<string> {
  const calls = await covered();
  const works = ({ status }: Covered) => status === "works";
  const row = (name: string, some: readonly Covered[]) => {
    const wanted = some.filter(({ status }) => status !== "left out");
    const [have, of] = [some.filter(works).length, wanted.length];
    return `| ${name} | ${some.length} | ${have} | ${some.length - of} | ${percent(have, of)} |`;
  };
  const programs = [...new Set(calls.flatMap((call) => call.programs))].sort();
  const missing = calls.filter(({ status }) => status === "missing");
  const byArea = groupBy(missing, ({ path }) => areaOf(path));
  const weight = (some: readonly Call[]) =>
    Math.max(...some.map((call) => call.programs.length)) * 1000 + some.length;
  const areas = [...byArea].sort(([, a], [, b]) => weight(b) - weight(a));
  const reasons = groupBy(
    calls.filter(({ status }) => status === "left out"),
    ({ reason }) => reason as string,
  );
  return `# Coverage of GitLab's REST API

<!-- Generated by \`npm run docs\` from docs/generate/calls.tsv. -->

The calls that clients of GitLab are able to make, by their sources, each tried: whether there is such a route. What a
route does is in [the reference](reference/README.md), what it keeps without an effect in [kept.md](kept.md). Every call is in
[coverage.json](coverage.json).

| calls | all | work | left out | of those not left out |
|---|---|---|---|---|
${[9, 8, 7, 6, 5, 4, 3, 2, 1]
  .map((least) => {
    const some = calls.filter((call) => call.programs.length >= least);
    return row(least === 1 ? "of any client" : `of ${least} clients or more`, some);
  })
  .join("\n")}
${programs
  .map((program) =>
    row(
      `of ${program}`,
      calls.filter((call) => call.programs.includes(program)),
    ),
  )
  .join("\n")}

## Missing

By what it belongs to; in front what most clients ask for.

| | calls | clients |
|---|---|---|
${areas
  .map(([area, some]) => {
    const who = [...new Set(some.flatMap((call) => call.programs))].sort();
    return `| ${area} | ${some.length} | ${who.join(", ")} |`;
  })
  .join("\n")}

## Left out

${[...reasons].map(([reason, some]) => `- ${reason} (${some.length})`).join("\n")}
`;
}

function groupBy<T>(all: readonly T[], keyOf: (one: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const one of all) groups.set(keyOf(one), [...(groups.get(keyOf(one)) ?? []), one]);
  return groups;
}

/** What a path belongs to: its fixed beginning. */
function areaOf(path: string): string {
  const [first = "", second, third, fourth] = path.split("/").slice(1);
  const isFixed = (part: string | undefined) => part !== undefined && !part.startsWith(":");
  const parts = [first, ...(isFixed(second) ? [second] : [])];
  if (!isFixed(second) && isFixed(third)) {
    parts.push("…", third as string);
    if (third === "-" && isFixed(fourth)) parts.push(fourth as string);
  }
  return `\`/${parts.join("/")}\``;
}
