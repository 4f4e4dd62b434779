import { randomUUID } from "node:crypto";
import type { Source } from "../../core/access/source.ts";
import { type Viewer, visibleCode, visibleProjects } from "../../core/access/visibility.ts";
import { csvLine } from "../../core/csv.ts";
import { isoInstant } from "../../core/time.ts";
import { all, belowGroup, when } from "../../store/conditions.ts";
import type { Reader, Value } from "../../store/port.ts";

/** The formats of lists of dependencies that GitLab knows. */
export const EXPORT_TYPES = ["dependency_list", "json_array", "csv", "cyclonedx_1_6_json"] as const;
export type ExportType = (typeof EXPORT_TYPES)[number];

/** What is written: the dependencies of a project, or of all projects below a group that the viewer may read. */
export interface Listed {
  readonly db: Reader;
  readonly source: Source;
  readonly viewer: Viewer;
  /** Whether the viewer sees the vulnerabilities of a project. */
  readonly showsVulnerabilities: boolean;
  readonly now: number;
}

/** Rows that one statement reads. */
const BATCH = 500;

interface Found {
  readonly id: number;
  readonly name: string;
  readonly version: string;
  readonly packager: string;
  readonly path: string;
  readonly vulnerabilities: string;
  readonly project: string;
  readonly branch: string | null;
}

/** The projects whose dependencies are listed: of a group one after the other, by their numbers. */
async function* projectsOf({ db, source, viewer }: Listed): AsyncGenerator<number> {
  if (source.kind === "project") {
    yield source.id;
    return;
  }
  for (let last = 0; ; ) {
    const wanted = all([
      when("p.id > ?", last),
      belowGroup("p.namespace_id", source.id),
      visibleProjects(viewer),
      visibleCode(viewer),
      when("exists (select 1 from dependencies d where d.project_id = p.id)"),
    ]);
    const found = await db.rows(
      `select p.id from projects p where ${wanted.sql} order by p.id limit ${BATCH}`,
      wanted.values,
    );
    for (const [id] of found) yield id as number;
    if (found.length < BATCH) return;
    last = found.at(-1)?.[0] as number;
  }
}

/** The dependencies, a batch at a time, in the order of the API's list. */
async function* found(listed: Listed): AsyncGenerator<Found> {
  const { db } = listed;
  for await (const projectId of projectsOf(listed)) {
    let last: readonly Value[] = ["", 0];
    for (;;) {
      const rows = await db.all<Found>(
        `select d.id, d.name, d.version, d.package_manager as packager, d.dependency_file_path as path,
           d.vulnerabilities, p.full_path as project, p.default_branch as branch
         from dependencies d join projects p on p.id = d.project_id
         where d.project_id = ? and (d.name, d.id) > (?, ?) order by d.name, d.id limit ${BATCH}`,
        [projectId, ...last],
      );
      yield* rows;
      const end = rows.at(-1);
      if (rows.length < BATCH || !end) break;
      last = [end.name, end.id];
    }
  }
}

const locationOf = ({ project, branch, path }: Found) => ({
  blob_path: branch === null ? null : `/${project}/-/blob/${branch}/${path}`,
  path,
});

const vulnerabilitiesOf = (
  { vulnerabilities }: Found,
  { showsVulnerabilities: isShown }: Listed,
): { name: string; severity: string }[] => (isShown ? JSON.parse(vulnerabilities) : []);

const objectOf = (one: Found, listed: Listed) => ({
  name: one.name,
  version: one.version,
  packager: one.packager,
  package_manager: one.packager,
  location: locationOf(one),
  licenses: [],
  vulnerabilities: vulnerabilitiesOf(one, listed),
});

const HEAD = [
  ...["Name", "Version", "Packager", "Location", "License Identifiers", "Project"],
  ...["Vulnerabilities Detected", "Vulnerability IDs"],
];

/** The types of package URLs, by package manager. */
const PURL_TYPES: Readonly<Record<string, string>> = {
  ...{ bundler: "gem", pip: "pypi", yarn: "npm" },
};

/** The name of a package in its URL: parts of it, such as a scope, stay apart. */
function purlOf({ name, version, packager }: Found): string {
  const parts = (packager === "maven" ? name.replace(":", "/") : name).split("/");
  const path = parts.map(encodeURIComponent).join("/");
  const end = version === "" ? "" : `@${encodeURIComponent(version)}`;
  return `pkg:${PURL_TYPES[packager] ?? packager}/${path}${end}`;
}

/** The beginning of a bill of materials, up to its components. */
export const bomHead = (specVersion: string, now: number): string =>
  JSON.stringify({
    bomFormat: "CycloneDX",
    specVersion,
    serialNumber: `urn:uuid:${randomUUID()}`,
    version: 1,
    metadata: { timestamp: isoInstant(now), tools: [{ vendor: "pm-api", name: "pm-api" }] },
  }).replace(/\}$/, ',"components":[');

interface Format {
  readonly contentType: string;
  readonly ending: string;
  readonly begin: (listed: Listed) => string;
  readonly item: (one: Found, listed: Listed) => string;
  readonly between: string;
  readonly end: string;
}

const JSON_TYPE = "application/json";
/** How each format is written. */
export const FORMATS: Readonly<Record<ExportType, Format>> = {
  dependency_list: {
    ...{ contentType: JSON_TYPE, ending: "json", between: ",", end: "]}" },
    begin: ({ now }) =>
      `{"report":${JSON.stringify({ status: "ok", generated_at: isoInstant(now) })},"dependencies":[`,
    item: (one, listed) => JSON.stringify(objectOf(one, listed)),
  },
  json_array: {
    ...{ contentType: JSON_TYPE, ending: "json", between: ",", end: "]", begin: () => "[" },
    item: (one, listed) => JSON.stringify({ ...objectOf(one, listed), project: one.project }),
  },
  csv: {
    ...{ contentType: "text/csv; charset=utf-8", ending: "csv", between: "", end: "" },
    begin: () => csvLine(HEAD),
    item: (one, listed) => {
      const known = vulnerabilitiesOf(one, listed);
      const names = known.map(({ name }) => name).join("; ");
      const about = [one.name, one.version, one.packager, one.path, "", one.project];
      return csvLine([...about, known.length, names]);
    },
  },
  cyclonedx_1_6_json: {
    ...{ contentType: JSON_TYPE, ending: "cdx.json", between: ",", end: "]}" },
    begin: ({ now }) => bomHead("1.6", now),
    item: (one) =>
      JSON.stringify({
        ...{ type: "library", name: one.name, version: one.version, purl: purlOf(one) },
        properties: [{ name: "gitlab:dependency_scanning:input_file", value: one.path }],
      }),
  },
};

/** Characters that are sent at once. */
const PART = 16 * 1024;

/** A list of dependencies as it is sent, read while it is. */
export async function* writtenList(type: ExportType, listed: Listed): AsyncGenerator<Uint8Array> {
  const { begin, item, between, end } = FORMATS[type];
  let text = begin(listed);
  let isFirst = true;
  for await (const one of found(listed)) {
    text += (isFirst ? "" : between) + item(one, listed);
    isFirst = false;
    if (text.length < PART) continue;
    yield Buffer.from(text);
    text = "";
  }
  yield Buffer.from(text + end);
}
