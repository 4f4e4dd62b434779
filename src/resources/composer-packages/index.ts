import { notFound } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { Json, type Resource, type Route, routes } from "../../core/resource.ts";
import { inGroup, reading, readingProject, writing } from "../packages/places.ts";
import * as packages from "../packages/queries.ts";
import { requireUnprotected } from "../protection-rules/abilities.ts";
import { archiveOf } from "../repositories/archives.ts";
import { openRepository } from "../repositories/open.ts";
import { beginningOf, manifestOf, packageReply, providersReply, rootOf } from "./metadata.ts";
import { readPublished, refOf } from "./published.ts";

const project = routes({
  source: "project",
  path: "/packages/composer",
  features: ["package_registry"],
});
const group = routes({ source: "group", path: "/-/packages/composer" });

/** Composer may send what it was given only once it is asked for it. */
const asked = { basicAuth: "asked" } as const;
const ofGroup = { ...reading, ...asked } as const;

/** Where the packages of a group are, for the reference. */
const PLACE = "/api/v4/group/1/-/packages/composer";

/** GitLab names the group of these routes in the singular. */
const ofOne = (route: Route): Route => ({
  ...route,
  path: route.path.replace("/groups/", "/group/"),
});

/** The name of a package in an address, which ends with what Composer expects the answer to be. */
const named = (ending: string) =>
  param.readAs(param.anyText({ max: 512 }), (sent) =>
    (sent.endsWith(ending) ? sent.slice(0, -ending.length) : sent).toLowerCase(),
  );

/** The registry of packages for Composer, over the packages of projects and their repositories (docs/packages.md). */
export const composerPackageResource: Resource = {
  name: "Composer packages",
  migrations: [],
  routes: [
    project.post("", {
      summary: "Publish a tag or a branch as a version of a Composer package",
      ...writing,
      ...asked,
      input: {
        tag: param.unlessBlank(param.text({ max: 1024 })),
        branch: param.unlessBlank(param.text({ max: 1024 })),
      },
      examples: [{ message: "201 Created" }],
      prepare: async (input, preparing) =>
        readPublished(await openRepository(preparing, [refOf(input)]), input),
      handle: async (context) => {
        const { db, source, caller, prepared, now } = context;
        const { name, version, sha, composer } = prepared;
        await requireUnprotected(context, "push", { name, package_type: "composer" });
        const of: packages.Version = { package_type: "composer", name, version };
        const manifest = manifestOf({ sha, composer });
        const made = {
          status: "default",
          creator_id: packages.creatorOf(caller),
          manifest,
        } as const;
        const id = await packages.findOrInsertVersion(db, source.id, of, made, now);
        await db.run("update packages set manifest = ?, updated_at = ? where id = ?", [
          manifest,
          now,
          id,
        ]);
        return new Json({ message: "201 Created" });
      },
    }),
    project.get("/archives/:package_name*", {
      summary: "Download a version of a Composer package: the files of its commit",
      answersWith: "application/zip",
      ...readingProject,
      ...asked,
      input: { package_name: named(".zip"), sha: param.text({ max: 64 }) },
      prepare: (_, preparing) => openRepository(preparing),
      handle: async ({ db, source, input, prepared: opened }) => {
        const beginning = beginningOf(input.sha);
        const [known] = await db.rows(
          `select 1 from packages where project_id = ? and package_type = 'composer' and name = ?
             and substr(manifest, 1, length(?)) = ? limit 1`,
          [source.id, input.package_name, beginning, beginning],
        );
        if (!known) throw notFound();
        return archiveOf(opened, "zip", { sha: input.sha, include_lfs_blobs: false });
      },
    }),
    ...[
      group.get("/packages", {
        summary: "Tell where Composer finds the packages of the projects in a group and below it",
        ...ofGroup,
        examples: [
          { packages: [], "metadata-url": `${PLACE}/p2/%package%.json` },
          {
            packages: [],
            "metadata-url": `${PLACE}/p2/%package%.json`,
            "provider-includes": { "p/%hash%.json": { sha256: "0123456789abcdef" } },
            "providers-url": `${PLACE}/%package%$%hash%.json`,
          },
        ],
        handle: async (context) => {
          const { db, request, source, view } = context;
          const isNew = request.header("user-agent")?.includes("Composer/2") ?? false;
          const where = inGroup(source, context);
          return new Json(await rootOf(db, view, source.id, where, isNew));
        },
      }),
      group.get("/p/:sha", {
        summary: "List the Composer packages of the projects in a group, as Composer 1 reads it",
        answersWith: "application/json",
        ...ofGroup,
        input: { sha: param.anyText({ max: 128 }) },
        handle: (context) =>
          providersReply(context.db, context.view, inGroup(context.source, context)),
      }),
      group.get("/p2/:package_name*", {
        summary: "Get the versions of a Composer package of the projects in a group and below it",
        answersWith: "application/json",
        ...ofGroup,
        input: { package_name: named(".json") },
        handle: (context) => {
          const { db, source, view, input } = context;
          return packageReply(db, view, inGroup(source, context), input.package_name);
        },
      }),
      group.get("/:package_name*", {
        summary:
          "Get the versions of a Composer package, as Composer 1 asks for it: `$` and a digest follow",
        answersWith: "application/json",
        ...ofGroup,
        input: { package_name: named(".json") },
        handle: (context) => {
          const { db, source, view, input } = context;
          const [name = "", sha] = input.package_name.split("$", 2);
          if (!sha) throw notFound();
          return packageReply(db, view, inGroup(source, context), name);
        },
      }),
    ].map(ofOne),
  ],
};
