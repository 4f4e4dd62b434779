import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { version } from "../../package.json";
import { type ContainerOptions, Containers } from "./containers.ts";
import { gzip, select, unzip, zip } from "./files.ts";
import { JobLog } from "./job-log.ts";
import type { Artifact, Cache, Job, Outcome, Step } from "./payload.ts";
import type { Server } from "./server.ts";
import { run, scriptOf } from "./shell.ts";
import { expand, valuesOf } from "./variables.ts";

/** Where jobs run. */
export interface Place {
  /** The folder that has the projects' files and caches. */
  readonly builds: string;
  /** A number from 0 that no other job has meanwhile. */
  readonly slot: number;
  /** How steps run in containers; `undefined` for a shell of the machine. */
  readonly containers: ContainerOptions | undefined;
}

/** Seconds that `after_script` may take. */
const AFTER_SECONDS = 300;
/** What of the runner's own environment jobs get. */
const INHERITED = ["PATH", "HOME", "LANG", "LC_ALL", "TZ", "USER", "TMPDIR"];

/** The job can't be done here: the message says why. */
class Refusal extends Error {}

/**
 * Runs a job: gets its commit, caches and artifacts of others, runs its steps in a shell, and sends what it leaves.
 *
 * @param signal ends it early, as when the runner stops
 * @returns how it ended, as the server was told
 */
export async function runJob(
  server: Server,
  job: Job,
  place: Place,
  signal: AbortSignal,
): Promise<Outcome & { readonly isCanceled: boolean }> {
  const canceled = new AbortController();
  const overdue = AbortSignal.timeout(job.runner_info.timeout * 1000);
  const log = new JobLog(server, job, () => canceled.abort());
  const files = await mkdtemp(join(tmpdir(), "pm-runner-"));
  const all = AbortSignal.any([signal, canceled.signal, overdue]);
  let outcome: Outcome;
  try {
    const work = await Work.begin(server, job, place, log, files);
    outcome = await work.all(all, AbortSignal.any([signal, canceled.signal]));
    if (overdue.aborted) {
      log.complain(`The job took longer than ${job.runner_info.timeout} seconds`);
      outcome = { state: "failed", reason: "job_execution_timeout" };
    }
  } catch (error) {
    log.complain(`ERROR: ${(error as Error).message}`);
    outcome = { state: "failed", reason: "runner_system_failure" };
  } finally {
    await rm(files, { recursive: true, force: true });
  }
  if (signal.aborted && outcome.state === "failed") {
    log.complain("The runner was stopped");
    outcome = { state: "failed", reason: "runner_system_failure" };
  }
  await log.close();
  await server.end(job, outcome);
  return { ...outcome, isCanceled: canceled.signal.aborted };
}

/** The work for one job. */
class Work {
  readonly #server: Server;
  readonly #job: Job;
  readonly #log: JobLog;
  readonly #caches: string;
  readonly #folder: string;
  readonly #files: string;
  readonly #values: Map<string, string>;
  readonly #containers: Containers | undefined;

  private constructor(server: Server, job: Job, place: Place, log: JobLog, files: string) {
    this.#server = server;
    this.#job = job;
    this.#log = log;
    this.#files = files;
    const project = String(job.job_info.project_id);
    const builds = join(place.builds, "builds", String(place.slot));
    this.#folder = join(builds, project);
    this.#caches = join(place.builds, "cache", project);
    this.#values = valuesOf(job.variables, {
      CI_BUILDS_DIR: builds,
      CI_PROJECT_DIR: this.#folder,
      CI_CONCURRENT_ID: String(place.slot),
      CI_CONCURRENT_PROJECT_ID: String(place.slot),
      CI_RUNNER_VERSION: version,
      CI_RUNNER_EXECUTABLE_ARCH: `${process.platform}/${process.arch}`,
      ...(place.containers
        ? { CI_DISPOSABLE_ENVIRONMENT: "true" }
        : { CI_SHARED_ENVIRONMENT: "true" }),
    });
    this.#containers =
      place.containers &&
      new Containers(place.containers, job, {
        folders: [builds, files],
        cwd: this.#folder,
        files,
        environment: () => this.#exported(),
        expand: (text) => expand(text, this.#values),
        write: (text) => log.write(text),
      });
  }

  static async begin(
    server: Server,
    job: Job,
    place: Place,
    log: JobLog,
    files: string,
  ): Promise<Work> {
    const work = new Work(server, job, place, log, files);
    for (const { key, value, file } of job.variables) {
      if (!file || !/^\w+$/.test(key)) continue;
      const path = join(files, key);
      await writeFile(path, value, { mode: 0o600 });
      work.#values.set(key, path);
    }
    return work;
  }

  /**
   * Does all of it.
   *
   * @param signal ends the steps
   * @param stopped ends also what comes after a job that took too long
   */
  async all(signal: AbortSignal, stopped: AbortSignal): Promise<Outcome> {
    const { image, services } = this.#job;
    const containers = this.#containers;
    const where = containers
      ? `a container of ${containers.image}`
      : `a shell of ${process.platform}/${process.arch}`;
    this.#log.say(`Running with pm-runner ${version} in ${where}`);
    if (!containers && (image?.name || services?.length)) {
      this.#log.complain(
        "WARNING: this runner has no containers: `image` and `services` are left out",
      );
    }
    try {
      if (containers) {
        await this.#log.section("prepare_executor", () => containers.start(signal));
      }
      return await this.#stages(signal, stopped);
    } finally {
      await containers?.end();
    }
  }

  /** Does the job's stages, one after another. */
  async #stages(signal: AbortSignal, stopped: AbortSignal): Promise<Outcome> {
    await this.#log.section("get_sources", () => this.#getSources(signal));
    for (const cache of this.#job.cache ?? []) {
      await this.#log.section("restore_cache", () => this.#restore(cache));
    }
    if (this.#job.dependencies?.length) {
      await this.#log.section("download_artifacts", () => this.#download());
    }
    let outcome: Outcome = { state: "success" };
    for (const step of this.#job.steps) {
      if (step.when === (outcome.state === "success" ? "on_failure" : "on_success")) continue;
      const isAfter = step.name === "after_script";
      if (isAfter && stopped.aborted) continue;
      this.#values.set("CI_JOB_STATUS", signal.aborted ? "canceled" : outcome.state);
      const limits = isAfter
        ? AbortSignal.any([stopped, AbortSignal.timeout(AFTER_SECONDS * 1000)])
        : signal;
      const code = await this.#log.section(isAfter ? "after_script" : "step_script", () =>
        this.#step(step, limits),
      );
      if (code === 0 || step.allow_failure) continue;
      outcome = {
        state: "failed",
        reason: "script_failure",
        ...(code !== undefined && { exitCode: code }),
      };
    }
    if (stopped.aborted)
      return outcome.state === "success"
        ? { state: "failed", reason: "runner_system_failure" }
        : outcome;
    const isWanted = ({ when = "on_success" }: { readonly when?: string }) =>
      when === "always" || (when === "on_failure") === (outcome.state === "failed");
    for (const cache of (this.#job.cache ?? []).filter(isWanted)) {
      await this.#log.section("archive_cache", () => this.#keep(cache));
    }
    const artifacts = (this.#job.artifacts ?? []).filter(isWanted);
    if (artifacts.length > 0) {
      await this.#log.section("upload_artifacts", async () => {
        for (const [at, artifact] of artifacts.entries()) await this.#upload(artifact, at);
      });
    }
    return outcome;
  }

  /** Runs commands, and returns how they ended: `undefined` if they were stopped. */
  async #step(
    { script }: Pick<Step, "script">,
    signal: AbortSignal,
    { isOutside = false } = {},
  ): Promise<number | undefined> {
    const code =
      isOutside || !this.#containers
        ? await this.#inShell(script, signal)
        : await this.#containers.step(scriptOf(script, this.#exported()), signal);
    if (code !== undefined && code !== 0)
      this.#log.complain(`ERROR: Job failed: exit status ${code}`);
    return code;
  }

  async #inShell(script: readonly string[], signal: AbortSignal): Promise<number | undefined> {
    const file = join(this.#files, "script.sh");
    await writeFile(file, scriptOf(script), { mode: 0o600 });
    const { code } = await run(["bash", file], {
      cwd: this.#folder,
      env: this.#environment(),
      write: (text) => this.#log.write(text),
      signal,
    });
    return code;
  }

  /** The job's variables, and what Git needs: what a shell can have as names. */
  #exported(): Record<string, string> {
    const own = { ...this.#git(), ...Object.fromEntries(this.#values) };
    return Object.fromEntries(
      Object.entries(own).filter(
        ([key, value]) => /^[A-Za-z_]\w*$/.test(key) && !value.includes("\0"),
      ),
    );
  }

  #environment(): Record<string, string> {
    const own = INHERITED.flatMap((key) => {
      const value = process.env[key];
      return value === undefined ? [] : [[key, value]];
    });
    // The environment ends values at a NUL.
    const given = [...this.#values].filter(
      ([key, value]) => key !== "" && !/[=\0]/.test(key) && !value.includes("\0"),
    );
    return { ...Object.fromEntries(own), ...this.#git(), ...Object.fromEntries(given) };
  }

  /** Git's settings in its environment: nobody sees the token in a list of processes, or in the repository's folder. */
  #git(): Record<string, string> {
    const { origin, username, password } = new URL(this.#job.git_info.repo_url);
    const login = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`);
    const settings = {
      [`http.${origin}/.extraHeader`]: `Authorization: Basic ${login.toString("base64")}`,
      "safe.directory": "*",
      "advice.detachedHead": "false",
      "init.defaultBranch": "main",
    };
    const given = Object.entries(settings).flatMap(([key, value], at) => [
      [`GIT_CONFIG_KEY_${at}`, key],
      [`GIT_CONFIG_VALUE_${at}`, value],
    ]);
    return {
      ...Object.fromEntries(given),
      GIT_CONFIG_COUNT: String(Object.keys(settings).length),
      GIT_TERMINAL_PROMPT: "0",
    };
  }

  async #getSources(signal: AbortSignal): Promise<void> {
    const strategy = this.#values.get("GIT_STRATEGY") ?? "fetch";
    if (strategy === "clone" || strategy === "empty")
      await rm(this.#folder, { recursive: true, force: true });
    await mkdir(this.#folder, { recursive: true });
    for (const { name, script } of this.#job.hooks ?? []) {
      if (
        name === "pre_get_sources_script" &&
        (await this.#step({ script }, signal, { isOutside: true })) !== 0
      ) {
        throw new Refusal("pre_get_sources_script failed");
      }
    }
    if (strategy === "none" || strategy === "empty") return;
    const { repo_url, sha, refspecs, depth } = this.#job.git_info;
    const git = async (...args: string[]) => {
      const { code } = await run(["git", ...args], {
        cwd: this.#folder,
        env: this.#environment(),
        write: (text) => this.#log.write(text),
        signal,
      });
      if (code !== 0 && !signal.aborted) throw new Refusal(`git ${args[0]} failed`);
    };
    const url = new URL(repo_url);
    url.username = "";
    url.password = "";
    this.#log.say(`Getting the commit ${sha.slice(0, 8)} of ${url.href}`);
    await git("init", "--quiet");
    // What a job that was killed has left.
    await rm(join(this.#folder, ".git", "index.lock"), { force: true });
    await rm(join(this.#folder, ".git", "shallow.lock"), { force: true });
    await git("config", "remote.origin.url", url.href);
    const deep = depth > 0 ? [`--depth=${depth}`] : [];
    await git(
      "fetch",
      "--quiet",
      "--force",
      "--prune",
      "--no-tags",
      ...deep,
      "origin",
      ...refspecs,
    );
    if (this.#values.get("GIT_CHECKOUT") === "false") return;
    // Objects of Git LFS come with the commit, unless the job sets GIT_LFS_SKIP_SMUDGE.
    await run(["git", "lfs", "install", "--local", "--skip-repo"], {
      cwd: this.#folder,
      env: this.#environment(),
      write: () => undefined,
      signal,
    });
    await git("checkout", "--quiet", "--force", sha);
    const flags = this.#values.get("GIT_CLEAN_FLAGS") || "-ffdx";
    if (flags !== "none") await git("clean", "--quiet", ...flags.split(/\s+/));
    const submodules = this.#values.get("GIT_SUBMODULE_STRATEGY") ?? "none";
    if (submodules === "none") return;
    const recursive = submodules === "recursive" ? ["--recursive"] : [];
    await git("submodule", "--quiet", "sync", ...recursive);
    await git("submodule", "--quiet", "update", "--init", "--force", ...recursive);
  }

  /** The file of a cache. Its name is a digest: a key may be any text. */
  #cacheFile(key: string): string {
    return join(this.#caches, `${createHash("sha256").update(key).digest("hex")}.zip`);
  }

  async #restore({ key, fallback_keys = [], policy = "pull-push" }: Cache): Promise<void> {
    if (!expand(policy, this.#values).includes("pull")) return;
    for (const one of [key, ...fallback_keys].map((text) => expand(text, this.#values))) {
      const file = this.#cacheFile(one);
      if (!existsSync(file)) continue;
      await unzip(file, this.#folder);
      this.#log.say(`The cache ${one} was restored`);
      return;
    }
    this.#log.say(`There is no cache ${expand(key, this.#values)} yet`);
  }

  async #keep(cache: Cache): Promise<void> {
    if (!expand(cache.policy ?? "pull-push", this.#values).includes("push")) return;
    const key = expand(cache.key, this.#values);
    const paths = await this.#select(cache);
    if (paths.length === 0) return this.#log.complain(`WARNING: the cache ${key} would be empty`);
    const file = this.#cacheFile(key);
    await mkdir(this.#caches, { recursive: true });
    // Another job may read it meanwhile.
    const written = `${file}.${process.pid}-${this.#job.id}`;
    await zip(this.#folder, paths, written);
    await rename(written, file);
    this.#log.say(`The cache ${key} has ${paths.length} files`);
  }

  async #download(): Promise<void> {
    for (const dependency of this.#job.dependencies ?? []) {
      if (!dependency.artifacts_file) continue;
      const file = join(this.#files, "artifacts.zip");
      try {
        await this.#server.download(dependency, file);
      } catch (error) {
        throw new Refusal(
          `the artifacts of ${dependency.name} can't be had: ${(error as Error).message}`,
        );
      }
      await unzip(file, this.#folder);
      this.#log.say(`Artifacts of ${dependency.name} (${dependency.id})`);
    }
  }

  /** The files that patterns and `untracked` name. */
  async #select({
    paths = [],
    exclude = [],
    untracked = false,
  }: Pick<Artifact, "paths" | "exclude" | "untracked">) {
    const named = paths.map((path) => this.#within(expand(path, this.#values)));
    const excluded = exclude.map((path) => this.#within(expand(path, this.#values)));
    const found = await select(this.#folder, named, excluded);
    if (!untracked) return found;
    let listed = "";
    await run(["git", "ls-files", "--others", "-z"], {
      cwd: this.#folder,
      env: this.#environment(),
      write: (text) => {
        listed += text;
      },
      signal: AbortSignal.timeout(60_000),
    });
    return [...new Set([...found, ...listed.split("\0").filter((path) => path !== "")])].sort();
  }

  /** A path within the project's folder: it may begin with `$CI_PROJECT_DIR`. */
  #within(path: string): string {
    return path.startsWith(`${this.#folder}/`) ? path.slice(this.#folder.length + 1) : path;
  }

  async #upload(artifact: Artifact, at: number): Promise<void> {
    const { artifact_type: type = "archive", artifact_format: format = "zip" } = artifact;
    const paths = await this.#select(artifact);
    if (paths.length === 0) {
      return this.#log.complain(
        `WARNING: no files for ${type}: ${(artifact.paths ?? []).join(", ")}`,
      );
    }
    const file = join(this.#files, `upload-${at}`);
    if (format === "zip") await zip(this.#folder, paths, file);
    else if (format === "gzip") await gzip(this.#folder, paths, file);
    const sent = format === "raw" ? join(this.#folder, paths[0] as string) : file;
    const name = expand(
      artifact.name || (type === "archive" ? "artifacts" : type),
      this.#values,
    ).replaceAll("/", "-");
    const ending = format === "zip" ? ".zip" : format === "gzip" ? ".gz" : "";
    try {
      await this.#server.upload(this.#job, artifact, sent, `${name}${ending}`);
      this.#log.say(`${paths.length} files were sent as ${type}`);
    } catch (error) {
      throw new Refusal(`${type} was refused: ${(error as Error).message}`);
    }
  }
}
