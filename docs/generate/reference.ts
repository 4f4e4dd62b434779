// The reference for people.

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

/** The reference for people, in Markdown. */
export function reference(of: readonly Described[] = described): string {
  const known = new Map<Presenter, string>();
  return [
    "<!-- Generated from the routes by `npm run docs`: do not edit. -->",
    "",
    "# Reference",
    "",
    "Paths are below `/api/v4`, except those that begin with `/-`, `/api/scim`, `/oauth` or `/.well-known`. Attributes",
    "are sent in the query or, except with GET, as a JSON object, a form or multipart. `null` and, except for text, an empty value",
    "count as not sent, or clear an attribute that can be cleared. Lists accept `page` and `per_page`, and answer with",
    "`Link` and the `X-` headers. `search` and `query` match texts that contain the words, in any case. Errors are",
    "described in [errors.md](errors.md). [openapi.json](openapi.json) is the machine-readable version.",
    "",
    ...of.map(({ name }) => `- [${name}](#${anchor(name)})`),
    "",
    ...of.flatMap((resource) => [
      `## ${resource.name}`,
      "",
      ...resource.routes.flatMap((route) => section(documented(resource, route), known)),
    ]),
  ].join("\n");
}

function section(of: Documented, known: Map<Presenter, string>): string[] {
  const { route, parameters, status } = of;
  const { isList, answersWith, alsoAnswers = {} } = route;
  const title = `${route.method} ${route.path}`;
  const lines = [`### ${title}`, "", `${route.summary}.`, "", rights(of), ""];
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
  const { examples } = route;
  if (examples) {
    lines.push(`Answers ${status} with, for example,`, "", "```json");
    lines.push(JSON.stringify(examples[0], null, 2), "```", "");
  } else if (of.answers.length === 0) {
    lines.push(`Answers ${status}${answersWith ? ` with \`${answersWith}\`` : ""}.`, "");
  }
  for (const { callers, presenter } of of.answers) {
    const whom = callers === undefined ? "" : ` to ${callers}`;
    const what = isList ? "a page of objects" : "an object";
    const before = known.get(presenter);
    if (before !== undefined) {
      lines.push(
        `Answers ${status}${whom} with ${what} as in [${before}](#${anchor(before)}).`,
        "",
      );
    } else {
      lines.push(`Answers ${status}${whom}${isList ? " with a page of" : " with"}`, "");
      lines.push("```", written(presenter.fields, ""), "```", "");
      known.set(presenter, title);
    }
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

/** GitHub's anchor for a heading. */
function anchor(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, "")
    .replaceAll(" ", "-");
}
