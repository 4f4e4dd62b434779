// The reference for people.

import { PROGRAM_ADDRESSES } from "../../src/addresses/index.ts";
import type { Fields } from "../../src/core/field.ts";
import { takesRawBody } from "../../src/core/http/raw-body.ts";
import type { AttributeNotes } from "../../src/core/input.ts";
import type { Presenter } from "../../src/core/presenter.ts";
import type { Route } from "../../src/core/resource.ts";
import {
  type Described,
  type Documented,
  described,
  documented,
  type Parameter,
} from "./documented.ts";
import { WITHOUT } from "./example-values.ts";
import { type Example, examples } from "./examples.ts";
import { TAGS } from "./tags.ts";

/** The path of the page of a resource in the folder of documents. */
const pageOf = (name: string) => `reference/${slug(name)}.md`;

const GENERATED = "<!-- Generated from the routes by `npm run docs`: do not edit. -->";

/** The pages of the reference, by their paths in the folder of documents: a contents, and one for each resource. */
export function reference(
  of: readonly Described[] = described,
): Record<string, () => string | Promise<string>> {
  const told = toldBy(of);
  return {
    "reference/README.md": () => contents(of),
    ...Object.fromEntries(of.map((one) => [pageOf(one.name), () => page(one, told)])),
  };
}

function contents(of: readonly Described[]): string {
  return [
    GENERATED,
    "",
    "# Reference",
    "",
    "Paths are below `/api/v4`, except those that begin with `/-`, `/api/scim`, `/oauth` or `/.well-known`. Attributes",
    "are sent in the query or, except with GET, as a JSON object, a form or multipart. `null` and, except for text, an empty value",
    "count as not sent, or clear an attribute that can be cleared. Lists accept `page` and `per_page`, and answer with",
    "`Link` and the `X-` headers. `search` and `query` match texts that contain the words, in any case. Errors are",
    "described in [errors.md](../errors.md). [openapi.json](../openapi.json) is the machine-readable version.",
    "",
    "Each request is shown as a line with curl (7.82 or newer), and was really asked of a server with a record of every",
    "kind when these pages were generated. The lines take its address and tokens from variables:",
    "",
    "```sh",
    "export GITLAB=http://127.0.0.1:3000 TOKEN=glpat-…",
    "```",
    "",
    "Of answers, the first entry of each list and the beginnings of long texts are shown.",
    "",
    ...of.map(({ name }) => `- [${name}](${slug(name)}.md): ${about(name)}`),
    "",
  ].join("\n");
}

/** What is not in openapi.json. */
const OTHERS: Readonly<Record<string, string>> = {
  [PROGRAM_ADDRESSES.name]: "Addresses that programs call beside the API, as GitLab's have them.",
};

/** What a resource is, with links from the reference's folder. */
const about = (name: string) =>
  (TAGS[name] ?? OTHERS[name] ?? "").replace(/\]\((?=[a-z]+\.md)/g, "](../");

async function page(resource: Described, told: Told): Promise<string> {
  const asked = await examples();
  const sections = resource.routes.map((route) =>
    section(documented(resource, route), told, asked.get(route)),
  );
  return [
    GENERATED,
    "",
    `# ${resource.name}`,
    "",
    about(resource.name),
    "",
    ...(sections.length > 1
      ? [
          ...resource.routes.map(
            (route) => `- [${titleOf(route)}](#${slug(titleOf(route))}): ${lowered(route.summary)}`,
          ),
          "",
        ]
      : []),
    ...sections.flat(),
  ].join("\n");
}

const titleOf = ({ method, path }: Route) => `${method} ${path}`;

/** A sentence within another, unless it begins with a name. */
const lowered = (text: string) =>
  /^[A-Z][a-z]+ /.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;

/** Where the fields of presenters are told: with the first route that answers with them. */
type Told = ReadonlyMap<Presenter, Pick<Documented, "resource" | "route">>;

function toldBy(of: readonly Described[]): Told {
  const told = new Map<Presenter, Pick<Documented, "resource" | "route">>();
  for (const resource of of) {
    for (const route of resource.routes) {
      for (const { presenter } of documented(resource, route).answers) {
        if (!told.has(presenter)) told.set(presenter, { resource: resource.name, route });
      }
    }
  }
  return told;
}

/** The longest example of what is told elsewhere. */
const SHORT = 400;

function section(of: Documented, told: Told, example: Example | undefined): string[] {
  const { route, parameters, status } = of;
  const { isList, answersWith, alsoAnswers = {} } = route;
  const lines = [`## ${titleOf(route)}`, "", `${route.summary}.`, "", rights(of), ""];
  if (parameters.length > 0) {
    lines.push("| attribute | | type | |", "|---|---|---|---|", ...parameters.map(row));
    if (route.atLeastOne) {
      lines.push("", `At least one of ${list(route.atLeastOne.map(code), "or")} is needed.`);
    }
    lines.push("");
  }
  if (takesRawBody(route)) {
    const most = route.maxBodyBytes ? ` of at most ${route.maxBodyBytes} bytes` : "";
    lines.push(`The body${most} may be of any type, and compressed with gzip.`, "");
  }
  if (route.body === "object") lines.push("The body is a JSON object (RFC 7644).", "");
  const reason = WITHOUT[titleOf(route)];
  if (reason !== undefined) lines.push(`${reason}`, "");
  else if (example) lines.push("```sh", example.curl, "```", "");
  const shown = reason === undefined ? example?.json : undefined;
  let isNew = false;
  const { examples: declared } = route;
  if (declared) {
    lines.push(`Answers ${status} with, for example,`, "", ...json(shown ?? declared[0]));
  } else if (of.answers.length === 0) {
    lines.push(`Answers ${status}${answersWith ? ` with \`${answersWith}\`` : ""}.`, "");
  }
  for (const { callers, presenter } of of.answers) {
    const whom = callers === undefined ? "" : ` to ${callers}`;
    const what = isList ? "a page of objects" : "an object";
    const first = told.get(presenter);
    if (first && first.route !== route) {
      const title = titleOf(first.route);
      const file = first.resource === of.resource ? "" : `${slug(first.resource)}.md`;
      const link = `[${title}](${file}#${slug(title)})`;
      lines.push(`Answers ${status}${whom} with ${what} as in ${link}.`, "");
    } else {
      lines.push(`Answers ${status}${whom}${isList ? " with a page of" : " with"}`, "");
      lines.push("```text", written(presenter.fields, ""), "```", "");
      isNew = true;
    }
  }
  const isShort = JSON.stringify(shown ?? null).length <= SHORT;
  if (!declared && shown !== undefined && (isNew || isShort)) {
    lines.push("For example:", "", ...json(shown));
  }
  for (const [other, examples] of Object.entries(alsoAnswers)) {
    if (examples === "the same") {
      lines.push(`May answer ${other} with the same.`, "");
      continue;
    }
    const [example] = examples;
    const body = example === undefined ? "" : ` with, for example, \`${JSON.stringify(example)}\``;
    lines.push(`May answer ${other}${body}.`, "");
  }
  return lines;
}

const json = (value: unknown) => ["```json", JSON.stringify(value, null, 2), "```", ""];

const WHO = { anyone: "Anyone", user: "Users", admin: "Administrators" };

/** Who may call, with which tokens, in which tier and in which projects. */
export function rights({ route, scopes, takesTokens, takesScimTokens }: Documented): string {
  const { access = "user", role, tier = "free" } = route;
  if (takesScimTokens) return `Identity providers with a SCIM token of the group. Tier: ${tier}.`;
  const { source, repository } = route;
  const needed =
    typeof role === "string"
      ? ` with at least the role ${role} in the ${source}`
      : role
        ? `; the required role in the ${source} depends on the request`
        : repository
          ? " who can read the project's code"
          : source
            ? ` who can read the ${source}`
            : "";
  const token = access === "anyone" ? "A token, if sent, needs" : "The token needs";
  return [
    `${WHO[access]}${needed}.`,
    ...(takesTokens ? [`${token} the scope ${list(scopes.map(code), "or")}.`] : []),
    ...(tier === "free" ? [] : [`Tier: ${tier}.`]),
    ...projectNeeds(route),
  ].join(" ");
}

/** Which features the project must have enabled, and whether it may be archived. */
function projectNeeds(route: Route): string[] {
  const { source, repository, features, method, whenDisabled, whenArchived } = route;
  const reads = method === "GET";
  if (repository && !features && !reads) return ["The project must not be archived; else 403."];
  if (source !== "project" || !features) return [];
  const names = list(features.map(code), "or");
  if (reads && whenDisabled === "leave out") {
    return [`If the project has ${names} disabled, answers as if there were none.`];
  }
  const which = features.length > 1 ? `one of the features ${names}` : `the feature ${names}`;
  const archived = reads || whenArchived === "allow" ? "" : ", and must not be archived";
  return [`The project must have ${which} enabled${archived}; else 403.`];
}

function row({ name, required, notes }: Parameter): string {
  const values = notes.values && `one of ${list(notes.values.map(code), "or")}`;
  const said = [notes.about, values, bounds(notes)].filter((one) => one !== undefined).join("; ");
  return `| \`${name}\` | ${required ? "required" : ""} | ${notes.type} | ${said} |`;
}

/** The maximum length of a text, or number of entries of a list; the smallest and largest number. */
function bounds({ maxItems, maxLength, minimum, maximum }: AttributeNotes): string | undefined {
  if (minimum !== undefined || maximum !== undefined) {
    return maximum === undefined
      ? `at least ${minimum}`
      : minimum === undefined
        ? `at most ${maximum}`
        : `${minimum} to ${maximum}`;
  }
  const characters = maxLength && `at most ${maxLength} characters`;
  const entries = maxItems && `at most ${maxItems} entries`;
  return [entries, characters].filter(Boolean).join(" of ") || undefined;
}

/** Fields as an object literal, with types for values. */
function written(fields: Fields, indent: string): string {
  const inner = Object.entries(fields).map(([name, field]) => {
    const value =
      field.fields && field.type === "object" ? written(field.fields, `${indent}  `) : field.type;
    return `${indent}  ${name}${field.omitted ? "?" : ""}: ${value}`;
  });
  return `{\n${inner.join("\n")}\n${indent}}`;
}

const code = (text: string) => `\`${text}\``;

function list(words: readonly string[], conjunction: string): string {
  if (words.length < 2) return words.join("");
  return `${words.slice(0, -1).join(", ")} ${conjunction} ${words.at(-1)}`;
}

/** GitHub's anchor for a heading, and what a page is called. */
function slug(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, "")
    .replaceAll(" ", "-");
}
