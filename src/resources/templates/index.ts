import { codeRole, type Source } from "../../core/access/source.ts";
import { notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { type Page, pageOf, type RowPage } from "../../core/pagination.ts";
import { presenter, rowMaker } from "../../core/presenter.ts";
import { Json, type Resource, routes } from "../../core/resource.ts";
import type { Reader } from "../../store/port.ts";
import { filled, find, KINDS, type KindName, licenses, namesOf } from "./catalog.ts";
import type { License } from "./licenses.ts";
import { FOLDERS, type FolderName, findOwn, isFolder, openFolders, ownNames } from "./own.ts";

const listed = presenter({ key: field.text("key"), name: field.text("name") });
const listedRow = rowMaker(listed);

const texts = (column: string) => field.json(column, "array of string");
const license = presenter({
  key: field.text("key"),
  name: field.text("name"),
  nickname: field.text("nickname"),
  html_url: field.derived(
    ["key"],
    "URL",
    ([key]) => `http://choosealicense.com/licenses/${String(key)}/`,
  ),
  source_url: field.text("source_url"),
  popular: field.flag("popular"),
  description: field.text("description"),
  conditions: texts("conditions"),
  permissions: texts("permissions"),
  limitations: texts("limitations"),
  content: field.text("content"),
});
const makeRow = rowMaker(license);
const licenseRow = (one: License) =>
  makeRow({
    ...one,
    popular: Number(one.popular),
    conditions: JSON.stringify(one.conditions),
    permissions: JSON.stringify(one.permissions),
    limitations: JSON.stringify(one.limitations),
  });

/** A page of the names of templates. */
const pageOfNames = (page: Page, names: readonly string[]): Promise<RowPage> =>
  pageOf(page, names.length, async (from, to) =>
    names.slice(from, to).map((name) => listedRow({ key: name, name })),
  );

const filling = {
  project: param.optional(param.anyText()),
  fullname: param.optional(param.anyText()),
};

/** The licence that was asked for, with what is known filled in. @throws ApiError 404 */
async function filledLicense(
  { db, caller, now }: { db: Reader; caller: { id: number } | undefined; now: number },
  key: string,
  { project, fullname }: { project?: string | undefined; fullname?: string | undefined },
): Promise<License> {
  const found = (await licenses()).find((one) => one.key === key.toLowerCase());
  if (!found) throw notFound("License");
  const [own] = caller ? await db.rows("select name from users where id = ?", [caller.id]) : [];
  const holder = fullname || (own?.[0] as string | undefined);
  const year = new Date(now).getUTCFullYear();
  return filled(found, { year, project: project || undefined, fullname: holder });
}

const { get, list } = routes({ path: "/templates" });

const kindRoutes = (Object.keys(KINDS) as KindName[]).flatMap((kind) => [
  list(`/${kind}`, {
    summary: `List the templates for ${kind}`,
    access: "anyone",
    presenter: listed,
    handle: async ({ page }) => pageOfNames(page, await namesOf(kind)),
  }),
  get(`/${kind}/:name`, {
    summary: `Get a template for ${kind}`,
    access: "anyone",
    input: { name: param.anyText() },
    examples: [{ name: "Node", content: "node_modules/\n" }],
    handle: async ({ input }) => {
      const found = await find(kind, input.name);
      if (!found) throw notFound(KINDS[kind].one);
      return new Json(found);
    },
  }),
]);

const licenseRoutes = [
  list("/licenses", {
    summary: "List licences",
    access: "anyone",
    input: { popular: param.optional(param.boolean()) },
    presenter: license,
    handle: async ({ page, input }) => {
      const all = (await licenses()).filter((one) => !input.popular || one.popular);
      return pageOf(page, all.length, async (from, to) => all.slice(from, to).map(licenseRow));
    },
  }),
  get("/licenses/:name", {
    summary: "Get a licence with the year, the project and who has the copyright",
    access: "anyone",
    input: { name: param.anyText(), ...filling },
    presenter: license,
    handle: async (context) =>
      licenseRow(await filledLicense(context, context.input.name, context.input)),
  }),
];

/** The kinds of templates of a project. */
const TYPES = [
  ...(Object.keys(KINDS) as KindName[]),
  "licenses",
  ...(Object.keys(FOLDERS) as FolderName[]),
] as const;
type TypeName = (typeof TYPES)[number];

const project = routes({ source: "project", path: "/templates" });

const type = { type: param.choice(TYPES) };
/** Callers who may read the code may read the templates, and everybody those for issues. */
const readable = {
  access: "anyone",
  role: ({ source, input }: Asked) => (input.type === "issues" ? undefined : codeRole({ source })),
} as const;

interface Asked {
  readonly source: Source;
  readonly input: { readonly type: TypeName };
}

const projectRoutes = [
  project.list("/:type", {
    summary: "List the templates of a kind that a project has",
    ...readable,
    input: type,
    presenter: listed,
    prepare: ({ type }, preparing) => (isFolder(type) ? openFolders(preparing) : undefined),
    handle: async ({ page, input: { type }, prepared: opened }) => {
      if (opened) return pageOfNames(page, await ownNames(opened, type as FolderName));
      if (type !== "licenses") return pageOfNames(page, await namesOf(type as KindName));
      const all = await licenses();
      return pageOf(page, all.length, async (from, to) =>
        all.slice(from, to).map(({ key, name }) => listedRow({ key, name })),
      );
    },
  }),
  project.get("/:type/:name", {
    summary: "Get a template of a kind that a project has",
    ...readable,
    input: { ...type, name: param.anyText(), ...filling },
    examples: [
      { name: "Bug", content: "What happens?\n" },
      {
        key: "mit",
        name: "MIT License",
        nickname: null,
        html_url: "http://choosealicense.com/licenses/mit/",
        source_url: "https://opensource.org/licenses/MIT",
        popular: true,
        description: "A short and simple permissive license.",
        conditions: ["include-copyright"],
        permissions: ["commercial-use"],
        limitations: ["liability"],
        content: "MIT License\n",
      },
      {
        key: "agpl-3.0",
        name: "GNU Affero General Public License v3.0",
        nickname: "GNU AGPLv3",
        html_url: "http://choosealicense.com/licenses/agpl-3.0/",
        source_url: null,
        popular: false,
        description: null,
        conditions: [],
        permissions: [],
        limitations: [],
        content: "",
      },
    ],
    prepare: ({ type }, preparing) => (isFolder(type) ? openFolders(preparing) : undefined),
    handle: async (context) => {
      const { input, view, prepared: opened } = context;
      const { type, name } = input;
      if (type === "licenses") {
        return new Json(license.value(licenseRow(await filledLicense(context, name, input)), view));
      }
      const found = opened
        ? await findOwn(opened, type as FolderName, name)
        : await find(type as KindName, name);
      if (!found) throw notFound("Template");
      return new Json(found);
    },
  }),
];

/** Templates for licences and files; and those of projects. */
export const templateResource: Resource = {
  name: "Templates",
  migrations: [],
  routes: [...kindRoutes, ...licenseRoutes, ...projectRoutes],
};
