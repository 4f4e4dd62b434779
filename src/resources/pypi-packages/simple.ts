import { notFound } from "../../core/errors.ts";
import type { View } from "../../core/field.ts";
import { escaped } from "../../core/markup.ts";
import { RawReply, type RequestInfo } from "../../core/resource.ts";
import type { Condition } from "../../store/conditions.ts";
import type { Reader } from "../../store/port.ts";

/** The JSON form of indexes (PEP 691), and what is answered to those that ask for no form. */
const AS_JSON = "application/vnd.pypi.simple.v1+json";
const AS_HTML = "text/html; charset=utf-8";
/** Packages that an index lists. */
const MOST_NAMES = 10_000;

/** A link of an index. */
interface Link {
  readonly name: string;
  readonly url: string;
  readonly requiresPython?: string | undefined;
  readonly sha256?: string;
  readonly size?: number;
}

/** The first names of the packages of a project: one look-up each, however many versions they have. */
async function namesIn(db: Reader, projectId: number): Promise<string[]> {
  const next = (after: string) =>
    `(select min(pk.name) from packages pk where pk.project_id = ? and pk.package_type = 'pypi'${after})`;
  const found = await db.rows(
    `with recursive names (name) as (
       select ${next("")} union all select ${next(" and pk.name > names.name")} from names where names.name is not null)
     select name from names where name is not null limit ${MOST_NAMES}`,
    [projectId, projectId],
  );
  return found.map(([name]) => String(name));
}

/** The first names of the packages in some projects. @param where which projects `p` */
async function namesAmong(db: Reader, where: Condition): Promise<string[]> {
  const found = await db.rows(
    `select distinct pk.name from packages pk join projects p on p.id = pk.project_id
     where pk.package_type = 'pypi' and ${where.sql} order by pk.name limit ${MOST_NAMES}`,
    where.values,
  );
  return found.map(([name]) => String(name));
}

/**
 * The index of all packages, the first ten thousand of them by name.
 *
 * @param of the project that they are in, or which projects `p`
 */
export async function packagesIndex(
  db: Reader,
  request: RequestInfo,
  of: { readonly project: number } | { readonly where: Condition },
): Promise<RawReply> {
  const names = "project" in of ? await namesIn(db, of.project) : await namesAmong(db, of.where);
  // Links are relative to the folder of the index, whose address may lack its slash.
  const folder = request.path.endsWith("/")
    ? ""
    : `${request.path.slice(request.path.lastIndexOf("/") + 1)}/`;
  return reply(request, "Links", {
    html: names.map((name) => ({ name, url: `${folder}${encodeURIComponent(name)}/` })),
    json: { projects: names.map((name) => ({ name })) },
  });
}

/**
 * The index of a package: the files of all its versions.
 *
 * @param name normalized
 * @param where which packages `pk` of which projects `p` it has
 * @throws ApiError 404 if there are none
 */
export async function filesIndex(
  db: Reader,
  request: RequestInfo,
  { base }: View,
  name: string,
  where: Condition,
): Promise<RawReply> {
  const found = await db.all<FileRow>(
    `select pk.project_id, pk.version, pk.manifest, pf.file_name, pf.sha256, pf.size
     from packages pk join projects p on p.id = pk.project_id join package_files pf on pf.package_id = pk.id
     where pk.package_type = 'pypi' and pk.name = ? and ${where.sql} order by pf.id`,
    [name, ...where.values],
  );
  if (found.length === 0) throw notFound();
  const html = found.map((row): Link => {
    const { project_id: project, file_name: file, sha256, size } = row;
    const place = `${base}/api/v4/projects/${project}/packages/pypi/files/${sha256}`;
    const requiresPython = (JSON.parse(row.manifest) as Manifest).requires_python;
    return {
      ...{ name: file, url: `${place}/${encodeURIComponent(file)}` },
      ...{ requiresPython, sha256, size },
    };
  });
  const files = html.map(({ name, url, requiresPython, sha256, size }) => ({
    ...{ filename: name, url, hashes: { sha256 }, size },
    ...(requiresPython && { "requires-python": requiresPython }),
  }));
  const versions = [...new Set(found.map(({ version }) => version))];
  return reply(request, `Links for ${name}`, { html, json: { name, versions, files } });
}

interface FileRow {
  readonly project_id: number;
  readonly version: string;
  readonly manifest: string;
  readonly file_name: string;
  readonly sha256: string;
  readonly size: number;
}

/** What is kept of a version. */
export interface Manifest {
  /** The versions of Python that it needs, such as `>=3.8`. */
  readonly requires_python?: string;
}

function reply(
  request: RequestInfo,
  title: string,
  { html, json }: { readonly html: readonly Link[]; readonly json: object },
): RawReply {
  const isJson = request.header("accept")?.includes(AS_JSON) ?? false;
  const headers = { "content-type": isJson ? AS_JSON : AS_HTML, vary: "Accept" };
  if (isJson) {
    return new RawReply(200, headers, JSON.stringify({ meta: { "api-version": "1.1" }, ...json }));
  }
  const lines = html.map(({ name, url, requiresPython, sha256 }) => {
    const python = requiresPython ? ` data-requires-python="${escaped(requiresPython)}"` : "";
    const href = escaped(sha256 ? `${url}#sha256=${sha256}` : url);
    return `<a href="${href}"${python}>${escaped(name)}</a><br>\n`;
  });
  const page = `<!doctype html>
<html><head><meta name="pypi:repository-version" content="1.0"><title>${escaped(title)}</title></head>
<body><h1>${escaped(title)}</h1>
${lines.join("")}</body></html>
`;
  return new RawReply(200, headers, page);
}
