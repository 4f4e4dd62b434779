import { describe, expect, it } from "vitest";
import type { Commit, Elsewhere, Json } from "../../src/ci/index.ts";
import { jobNames, plan as planOf, read, SHA, type Situation } from "./read.ts";

/** A commit of a project with files. */
const commit = (project: string, files: Readonly<Record<string, string>>, sha = "1"): Commit => ({
  project,
  sha: sha.repeat(40),
  file: async (path) => files[path],
  paths: async () => Object.keys(files),
});

const TOOLS = commit("acme/tools", {
  "a.yml": "include: b.yml\nfrom-a: { script: a }",
  "b.yml": "from-b: { script: b }",
  "secret.yml": "include: { project: acme/private, file: a.yml }",
  "empty.yml": "",
});
const PRIVATE = commit("acme/private", { "a.yml": "from-private: { script: a }" });
const JOB =
  "spec: { inputs: { stage: { default: test } } }\n---\njob: { stage: $[[ inputs.stage ]], script: x }";
const COMPONENTS = commit("acme/components", {
  "templates/job.yml": JOB,
  "templates/folder/template.yml":
    "spec: { component: [name, version, sha, reference] }\n---\n" +
    "about: { script: echo $[[ component.name ]] $[[ component.version ]] $[[ component.reference ]] $[[ component.sha ]] }",
});
const TEXTS: Readonly<Record<string, string>> = {
  "https://files.test/a.yml": "remote: { script: x }",
  "https://files.test/local.yml": "include: { local: b.yml }",
  "https://files.test/project.yml": "include: { project: acme/tools, file: b.yml }",
  "https://files.test/private.yml": "include: { project: acme/private, file: a.yml }",
  "https://files.test/component.yml": "include: { component: gitlab.test/acme/components/job@1 }",
  "https://files.test/rule.yml":
    "include: { local: b.yml, rules: [{ if: $WHICH }] }\nremote: { script: x }",
  "https://files.test/variable.yml": "include: { remote: https://files.test/$WHICH.yml }",
};

const ELSEWHERE: Elsewhere = {
  project: async (path, ref, isPublic) => {
    const found = [TOOLS, PRIVATE].find(({ project }) => project === path);
    if (!found || (isPublic && found === PRIVATE)) return "project";
    return ref === undefined || ref === "v1" ? found : "reference";
  },
  component: async (path, version) => {
    if (path !== COMPONENTS.project) return "project";
    if (version === "~latest") return "latest";
    return version === "0" ? "version" : { ...COMPONENTS, version: `${version}.0.0` };
  },
  remote: async (url) => {
    const text = TEXTS[url];
    return text === undefined ? "of HTTP code `404` error" : { text };
  },
  template: async (name) =>
    name === "Jobs/Build.gitlab-ci.yml" ? "build: { script: make }" : undefined,
};

const situation: Situation = {
  elsewhere: ELSEWHERE,
  files: { "b.yml": "own-b: { script: x }" },
  values: { CI_SERVER_FQDN: "gitlab.test", WHICH: "a", GROUP: "acme" },
};
const including = (include: Json) => `{ include: ${JSON.stringify(include)}, own: { script: x } }`;

describe("includes", () => {
  it.each<[string, Json, string[]]>([
    [
      "a project's file, and what that includes of its project",
      { project: "acme/tools", file: "/a.yml" },
      ["from-b", "from-a"],
    ],
    [
      "several files at a ref",
      { project: "acme/tools", file: ["b.yml", "a.yml"], ref: "v1" },
      ["from-b", "from-a"],
    ],
    ["names with variables", { project: "$GROUP/tools", file: "$WHICH.yml" }, ["from-b", "from-a"]],
    ["a file of another server", { remote: "https://files.test/a.yml" }, ["remote"]],
    ["an address as a text", "https://files.test/a.yml", ["remote"]],
    ["a public project's file from another server", "https://files.test/project.yml", ["from-b"]],
    ["a template", { template: "Jobs/Build.gitlab-ci.yml" }, ["build"]],
    ["a component", { component: "$CI_SERVER_FQDN/acme/components/job@1" }, ["job"]],
    ["a component in a folder", { component: "gitlab.test/acme/components/folder@1" }, ["about"]],
    [
      "a file whose integrity is known",
      {
        remote: "https://files.test/a.yml",
        integrity: "sha256-Zgdshflp6mJXnjRC+53Vz6plI6GV55Sr5MgfyOhdl7c=",
        cache: "5 minutes",
      },
      ["remote"],
    ],
    [
      "nothing by a rule about variables, from another server",
      "https://files.test/rule.yml",
      ["remote"],
    ],
    [
      "nothing, if a rule says so",
      { project: "acme/none", file: "a.yml", rules: [{ if: "$NEVER" }] },
      [],
    ],
  ])("%s", async (_, include, names) => {
    expect(await jobNames(including(include), situation)).toEqual([...names, "own"]);
  });

  it("each with what names it, and which commit includes it", async () => {
    const { includes } = await read(
      including([
        { project: "acme/tools", file: "a.yml" },
        { component: "gitlab.test/acme/components/job@1" },
        { template: "Jobs/Build.gitlab-ci.yml" },
        "https://files.test/project.yml",
      ]),
      situation,
    );
    const own = { project: "acme/shop", sha: SHA };
    const tools = { project: "acme/tools", sha: TOOLS.sha };
    const address = "gitlab.test/acme/components/job@1";
    const components = { project: "acme/components", sha: COMPONENTS.sha };
    const ofTools = { project: "acme/tools", ref: "HEAD" };
    expect(includes).toEqual([
      {
        type: "file",
        location: "a.yml",
        extra: ofTools,
        context: own,
        file: { ...tools, path: "a.yml" },
      },
      {
        type: "local",
        location: "b.yml",
        extra: {},
        context: tools,
        file: { ...tools, path: "b.yml" },
      },
      {
        type: "component",
        location: address,
        extra: {},
        context: own,
        file: { ...components, path: "templates/job.yml" },
      },
      { type: "template", location: "Jobs/Build.gitlab-ci.yml", extra: {}, context: own },
      { type: "remote", location: "https://files.test/project.yml", extra: {}, context: own },
      {
        type: "file",
        location: "b.yml",
        extra: ofTools,
        context: undefined,
        file: { ...tools, path: "b.yml" },
      },
    ]);
  });

  it("what a component may know of itself", async () => {
    const text = including({ component: "gitlab.test/acme/components/folder@1" });
    const { configuration } = await read(text, situation);
    const about = configuration?.jobs.find(({ name }) => name === "about");
    expect(about?.options.script).toEqual([`echo folder 1.0.0 1 ${COMPONENTS.sha}`]);
  });
});

const NO_PROJECT = (path: string) =>
  `Project \`${path}\` not found or access denied! Make sure any includes in the pipeline configuration are correctly defined.`;

describe("an include is refused", () => {
  it.each<[string, Json, string]>([
    [
      "of a project that is not shown",
      { project: "acme/none", file: "a.yml" },
      NO_PROJECT("acme/none"),
    ],
    [
      "of a project without a file",
      { project: "acme/tools" },
      "include config must specify the file where to fetch the config from",
    ],
    [
      "of a file that is no text",
      { project: "acme/tools", file: [1] },
      "Included file `1` needs to be a string",
    ],
    [
      "of a reference that there is not",
      { project: "acme/tools", file: "a.yml", ref: "nope" },
      "Project `acme/tools` reference `nope` does not exist!",
    ],
    [
      "of a file that there is not",
      { project: "acme/tools", file: "nope.yml" },
      "Project `acme/tools` file `nope.yml` does not exist!",
    ],
    [
      "of an empty file",
      { project: "acme/tools", file: "empty.yml" },
      "Project `acme/tools` file `empty.yml` is empty!",
    ],
    [
      "of a file of no YAML",
      { project: "acme/tools", file: "a.txt" },
      "Included file `a.txt` does not have YAML extension!",
    ],
    [
      "of another server that has it not",
      { remote: "https://files.test/b.yml" },
      "Remote file `https://files.test/b.yml` could not be fetched because of HTTP code `404` error!",
    ],
    [
      "of no address",
      { remote: "ftp://files.test/b.yml" },
      "Remote file `ftp://files.test/b.yml` does not have a valid address!",
    ],
    [
      "with another content than is known",
      { remote: "https://files.test/a.yml", integrity: "sha256-AAAA" },
      "Remote file `https://files.test/a.yml` failed the integrity check!",
    ],
    [
      "kept for seconds",
      { remote: "https://files.test/a.yml", cache: "5 seconds" },
      "include:cache config must be a boolean or a duration of at least 1 minute",
    ],
    [
      "of a file of its commit by one of another server",
      "https://files.test/local.yml",
      "Local file `b.yml` does not have project!",
    ],
    [
      "of a private project by one of another server",
      "https://files.test/private.yml",
      NO_PROJECT("acme/private"),
    ],
    [
      "with a variable by one of another server",
      "https://files.test/variable.yml",
      "Remote file `https://files.test/$WHICH.yml` could not be fetched because of HTTP code `404` error!",
    ],
    [
      "of a component by one of another server",
      "https://files.test/component.yml",
      "Unable to use components outside of a project context",
    ],
    [
      "of a template by another name",
      { template: "Build.yml" },
      "Template file `Build.yml` is not a valid location!",
    ],
    [
      "of a template that there is not",
      { template: "Nope.gitlab-ci.yml" },
      "Included file `Nope.gitlab-ci.yml` is empty or does not exist!",
    ],
    [
      "of a component of another server",
      { component: "other.test/acme/components/job@1" },
      "Component 'other.test/acme/components/job@1' - the component path is not supported",
    ],
    [
      "of a component without a version",
      { component: "gitlab.test/acme/components/job" },
      "Component 'gitlab.test/acme/components/job' - the component path is not supported",
    ],
    [
      "of a component of no project",
      { component: "gitlab.test/acme/none/job@1" },
      "Component 'gitlab.test/acme/none/job@1' - project does not exist or you don't have sufficient permissions",
    ],
    [
      "of a component of no version",
      { component: "gitlab.test/acme/components/job@0" },
      "Component 'gitlab.test/acme/components/job@0' - content not found",
    ],
    [
      "of a component that there is not",
      { component: "gitlab.test/acme/components/nope@1" },
      "Component 'gitlab.test/acme/components/nope@1' - content not found",
    ],
    [
      "of the newest component without a release",
      { component: "gitlab.test/acme/components/job@~latest" },
      "Component 'gitlab.test/acme/components/job@~latest' - The ~latest version reference is not supported for non-catalog resources. Use a tag, branch, or commit SHA instead.",
    ],
    [
      "of an artifact in a pipeline that no other starts",
      { artifact: "a.yml", job: "make" },
      "Including configs from artifacts is only allowed when triggering child pipelines",
    ],
    [
      "with inputs that are no hash",
      { local: "b.yml", inputs: ["a"] },
      "include:inputs config should be a hash",
    ],
    [
      "of a file that includes a file without access",
      { project: "acme/tools", file: "secret.yml", rules: [{ if: "$WHICH" }], inputs: { a: 1 } },
      "`secret.yml`: Given inputs not defined in the `spec` section of the included configuration file",
    ],
  ])("%s", async (_, include, error) => {
    const { errors } = await read(including(include), situation);
    expect(errors).toEqual([error]);
  });

  it("of an artifact that is not there", async () => {
    const artifact: NonNullable<Elsewhere["artifact"]> = async (job, path) =>
      job !== "make" ? "job" : path === "a.yml" ? { text: "made: { script: x }" } : "file";
    const started = { ...situation, elsewhere: { ...ELSEWHERE, artifact } };
    const of = async (include: Json) => (await read(including(include), started)).errors;
    expect(await of({ artifact: "a.yml", job: "make" })).toEqual([]);
    expect(await of({ artifact: "a.yml", job: "nope" })).toEqual([
      "Job `nope` not found in parent pipeline or does not have artifacts!",
    ]);
    expect(await of({ artifact: "b.yml", job: "make" })).toEqual(["File `b.yml` does not exist!"]);
    expect(await of({ artifact: "a.yml" })).toEqual([
      "Job must be provided when including configs from artifacts",
    ]);
  });
});

describe("a rule about files of another project", () => {
  const rule = (exists: object) =>
    JSON.stringify({ a: { script: "x", rules: [{ exists }] }, own: { script: "x" } });

  it.each([
    ["has it", { paths: ["a.yml"], project: "$GROUP/tools" }, ["a", "own"]],
    ["has it at a tag", { paths: ["*.yml"], project: "acme/tools", ref: "v1" }, ["a", "own"]],
    ["has it not", { paths: ["nope.yml"], project: "acme/tools" }, ["own"]],
  ])("that %s", async (_, exists, names) => {
    expect(await jobNames(rule(exists), situation)).toEqual(names);
  });

  it.each([
    [
      { paths: ["a.yml"], project: "acme/none" },
      "rules:exists:project `acme/none` is not a valid project path, or not shown",
    ],
    [
      { paths: ["a.yml"], project: "acme/tools", ref: "nope" },
      "rules:exists:ref `nope` is not a valid ref in project `acme/tools`",
    ],
  ])("%j is refused", async (exists, part) => {
    const { errors } = await planOf(rule(exists), situation);
    expect(errors.join()).toContain(part);
  });
});

it("paths and mistakes never show the values of masked variables", async () => {
  const hidden = {
    ...situation,
    files: { "open-sesame.yml": "a: { script: x }" },
    values: { SECRET: "open-sesame" },
    masked: new Set(["SECRET"]),
  };
  const { includes } = await read(including("$SECRET.yml"), hidden);
  expect(includes.map(({ location }) => location)).toEqual(["[MASKED].yml"]);
  const { errors } = await read(including(["$SECRET.yml", "no/$SECRET.yml"]), hidden);
  expect(errors).toEqual(["Local file `no/[MASKED].yml` does not exist!"]);
});

it("rules look at the files of few commits of other projects", async () => {
  const jobs = Array.from({ length: 6 }, (_, at) => {
    const exists = { paths: ["nope"], project: "acme/tools", ref: `v${at}` };
    return [`j${at}`, { script: "x", rules: [{ exists }] }];
  });
  const elsewhere = { ...ELSEWHERE, project: async () => TOOLS };
  const { errors } = await planOf(JSON.stringify(Object.fromEntries(jobs)), { elsewhere });
  expect(errors).toEqual([
    expect.stringContaining("rules:exists:project can name 5 commits of others at most"),
  ]);
});
