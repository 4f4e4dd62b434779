import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ContainerImage, Job } from "./payload.ts";
import { run } from "./shell.ts";

/** The program that runs containers, and what they are of. */
export interface ContainerOptions {
  /** `docker`, or what takes its commands, as `podman`. */
  readonly program: string;
  /** The image of jobs that name none. */
  readonly image: string | undefined;
}

/** What a job's containers share with the machine, and who hears of them. */
interface Surroundings {
  /** Folders that they see at the same path. */
  readonly folders: readonly string[];
  /** The folder in which commands run. */
  readonly cwd: string;
  /** A folder of the job's own. */
  readonly files: string;
  /** The job's variables by name. */
  readonly environment: () => Readonly<Record<string, string>>;
  /** Replaces variables of the job. */
  readonly expand: (text: string) => string;
  readonly write: (text: string) => void;
}

/** Waits for what takes down containers, in milliseconds. */
const CLEANING = 60_000;
/** Reads commands, which get no input themselves, and runs them: by bash if the image has it, since they are written for it. */
const SHELL = `run='s=$(cat); exec </dev/null; eval "$s"'
if command -v bash >/dev/null 2>&1; then exec bash -c "$run"; else eval "$run"; fi`;
const PULLS: Readonly<Record<string, string>> = {
  always: "always",
  "if-not-present": "missing",
  never: "never",
};

/** The containers of one job: one for each step, and those of its services, on a network of their own. */
export class Containers {
  readonly #options: ContainerOptions;
  readonly #job: Job;
  readonly #around: Surroundings;
  readonly #name: string;
  readonly #services: string[] = [];
  #hasNetwork = false;
  #count = 0;

  constructor(options: ContainerOptions, job: Job, around: Surroundings) {
    this.#options = options;
    this.#job = job;
    this.#around = around;
    this.#name = `pm-runner-${process.pid}-${job.id}`;
  }

  /** What is said of them in the log. @throws Error if the job has no image */
  get image(): string {
    const name = this.#around.expand(this.#job.image?.name || this.#options.image || "");
    if (name === "") throw new Error("the job names no `image`, and the runner has none (--image)");
    return name;
  }

  /** Starts the services. @throws Error if one can't be started */
  async start(signal: AbortSignal): Promise<void> {
    const services = this.#job.services ?? [];
    if (services.length === 0) return;
    await this.#must(["network", "create", this.#name], signal);
    this.#hasNetwork = true;
    for (const [at, service] of services.entries()) {
      const image = this.#around.expand(service.name ?? "");
      const own = (service.variables ?? []).map(
        ({ key, value }) => [key, this.#around.expand(value)] as const,
      );
      const file = join(this.#around.files, `service-${at}.env`);
      await writeFile(
        file,
        linesOf({ ...this.#around.environment(), ...Object.fromEntries(own) }),
        {
          mode: 0o600,
        },
      );
      const name = `${this.#name}-service-${at}`;
      this.#services.push(name);
      const args = [
        ...["run", "--detach", "--name", name, "--network", this.#name, "--env-file", file],
        ...aliasesOf(image, service.alias).flatMap((alias) => ["--network-alias", alias]),
        ...containerOf(service, image),
        ...(service.command ?? []),
      ];
      await this.#must(args, signal);
    }
  }

  /** Runs commands in a container of the job's image. @returns how it ended; `undefined` if it was stopped */
  async step(script: string, signal: AbortSignal): Promise<number | undefined> {
    this.#count += 1;
    const name = `${this.#name}-${this.#count}`;
    const { folders, cwd } = this.#around;
    const args = [
      ...["run", "--rm", "--interactive", "--name", name, "--workdir", cwd],
      ...(this.#hasNetwork ? ["--network", this.#name] : []),
      ...folders.flatMap((folder) => ["--volume", `${folder}:${folder}`]),
      ...containerOf(this.#job.image ?? {}, this.image),
      ...["sh", "-c", SHELL],
    ];
    // The program may be stopped before its container is.
    const kill = () => void this.#quietly(["kill", name]);
    signal.addEventListener("abort", kill, { once: true });
    try {
      return (await this.#run(args, signal, { input: script })).code;
    } finally {
      signal.removeEventListener("abort", kill);
      if (signal.aborted) await this.#remove([name]);
    }
  }

  /** Takes all of them down. */
  async end(): Promise<void> {
    if (this.#services.length > 0) await this.#remove(this.#services);
    if (this.#hasNetwork) await this.#quietly(["network", "rm", this.#name]);
  }

  /** Nothing of the job is in the program's own environment: variables such as `DOCKER_HOST` are for what jobs run. */
  #run(
    args: readonly string[],
    signal: AbortSignal,
    { input = "", write = this.#around.write } = {},
  ) {
    const env = Object.fromEntries(
      Object.entries(process.env).flatMap(([key, value]) =>
        value === undefined ? [] : [[key, value]],
      ),
    );
    return run([this.#options.program, ...args], {
      cwd: this.#around.files,
      env,
      input,
      write,
      signal,
    });
  }

  async #must(args: readonly string[], signal: AbortSignal): Promise<void> {
    const { code } = await this.#run(args, signal);
    if (code !== 0 && !signal.aborted) {
      throw new Error(`${this.#options.program} ${args[0]} failed`);
    }
  }

  async #remove(names: readonly string[]): Promise<void> {
    // Podman would give them ten seconds to end.
    await this.#quietly(["kill", ...names]);
    await this.#quietly(["rm", "--force", "--volumes", ...names]);
  }

  async #quietly(args: readonly string[]): Promise<void> {
    await this.#run(args, AbortSignal.timeout(CLEANING), { write: () => undefined });
  }
}

/** What of a container is told before its command. */
function containerOf({ entrypoint, pull_policy, docker }: ContainerImage, image: string): string[] {
  const [first, ...rest] = entrypoint ?? [];
  const pull = PULLS[pull_policy?.[0] ?? ""];
  return [
    ...(pull ? ["--pull", pull] : []),
    ...(docker?.user ? ["--user", String(docker.user)] : []),
    ...(docker?.platform ? ["--platform", docker.platform] : []),
    ...(first === undefined ? [] : ["--entrypoint", first]),
    image,
    ...rest,
  ];
}

/** Variables as a file of lines: those of several lines can't be told so. */
const linesOf = (values: Readonly<Record<string, string>>) =>
  Object.entries(values)
    .filter(([, value]) => !value.includes("\n"))
    .map(([key, value]) => `${key}=${value}\n`)
    .join("");

/** The names by which a job reaches a service, as GitLab Runner gives them. */
function aliasesOf(image: string, given: string | undefined): string[] {
  const own = (given ?? "").split(/[\s,]+/).filter((alias) => alias !== "");
  const path = image
    .replace(/@.*$/, "")
    .replace(/:[^/:]*$/, "")
    .replace(/:\d+\//, "/");
  return [...own, ...new Set([path.replaceAll("/", "__"), path.replaceAll("/", "-")])];
}
