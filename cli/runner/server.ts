import { createWriteStream, openAsBlob } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { version } from "../../package.json";
import { Failure } from "../errors.ts";
import type { Artifact, Dependency, Job, Outcome } from "./payload.ts";

/** What this runner says about itself. */
const INFO = {
  name: "pm-runner",
  version,
  platform: process.platform,
  architecture: process.arch,
  shell: "bash",
  features: {
    variables: true,
    artifacts: true,
    cache: true,
    upload_multiple_artifacts: true,
    upload_raw_artifacts: true,
    refspecs: true,
    masking: true,
    raw_variables: true,
    artifacts_exclude: true,
    multi_build_steps: true,
    cancelable: true,
    return_exit_code: true,
    trace_reset: true,
    trace_checksum: true,
    trace_size: true,
    fallback_cache_keys: true,
    image: true,
    services: true,
  },
};

/** A part of a log was refused, or taken: how the job is, and where the log ends. */
export interface Added {
  readonly isTaken: boolean;
  /** The job's status, as `running` or `canceled`. */
  readonly status: string | undefined;
  /** Bytes that the server has. */
  readonly end: number;
  /** Seconds until more should be sent. */
  readonly interval: number;
}

/** A server as runners speak to it. */
export class Server {
  readonly #api: string;
  readonly #token: string;
  readonly #system: string;
  readonly #executor: "shell" | "docker";
  #lastUpdate: string | undefined;

  /**
   * @param url of the server
   * @param token of the runner
   * @param system what tells this process from others of the runner
   * @param executor how it runs jobs
   */
  constructor(url: string, token: string, system: string, executor: "shell" | "docker") {
    this.#api = `${url.replace(/\/+$/, "")}/api/v4`;
    this.#token = token;
    this.#system = system;
    this.#executor = executor;
  }

  /** Checks the runner's token. @throws Failure that says what to do next */
  async verify(): Promise<void> {
    const answer = await this.#post("/runners/verify", {}).catch((error: Error) => {
      const cause = (error.cause as Error | undefined)?.message ?? error.message;
      throw new Failure(`the server can't be reached: ${cause}. Check --url, and that it runs`);
    });
    if (answer.status === 200) return;
    throw new Failure(
      answer.status === 403
        ? "the token is none of a runner here: make one on the project's or group's page of runners, or with POST /user/runners"
        : `the server answers ${answer.status} to /runners/verify: check --url`,
    );
  }

  /**
   * Takes the next job.
   *
   * @param waits whether the server may wait for one, half a minute or so
   * @returns `undefined` if there is none
   */
  async take(signal: AbortSignal, waits: boolean): Promise<Job | undefined> {
    const known = waits && this.#lastUpdate !== undefined && { last_update: this.#lastUpdate };
    const answer = await this.#post("/jobs/request", known || {}, signal);
    this.#lastUpdate = answer.headers.get("x-gitlab-last-update") ?? this.#lastUpdate;
    if (answer.status === 201) return (await answer.json()) as Job;
    if (answer.status !== 204) throw new Error(`POST /jobs/request: ${answer.status}`);
    return undefined;
  }

  /** Adds bytes to a job's log; without any, the server is told that the job goes on. */
  async append({ id, token }: Job, start: number, bytes: Uint8Array): Promise<Added> {
    const answer =
      bytes.length === 0
        ? await this.#send("PUT", `/jobs/${id}`, { token, state: "running" })
        : await fetch(`${this.#api}/jobs/${id}/trace`, {
            method: "PATCH",
            headers: {
              "job-token": token,
              "content-type": "text/plain",
              "content-range": `${start}-${start + bytes.length - 1}`,
            },
            body: bytes as BodyInit,
          });
    await answer.arrayBuffer();
    const { headers, status } = answer;
    const [, end] = (headers.get("range") ?? "").split("-");
    return {
      isTaken: status === 202,
      status: headers.get("job-status") ?? (status === 403 ? "canceled" : undefined),
      end: Number(end ?? start),
      interval: Number(headers.get("x-gitlab-trace-update-interval") ?? 3),
    };
  }

  /** Says how a job ended. It is tried again for a minute: otherwise the job would seem to run on. */
  async end({ id, token }: Job, { state, reason, exitCode }: Outcome): Promise<void> {
    const sent = { token, state, failure_reason: reason, exit_code: exitCode };
    for (let tries = 0; ; tries += 1) {
      const answer = await this.#send("PUT", `/jobs/${id}`, sent).catch(() => undefined);
      if (answer && answer.status < 500) return;
      if (tries === MOST_TRIES) throw new Error(`job ${id}: its end could not be told`);
      await new Promise((resolve) => setTimeout(resolve, 1000 * 2 ** tries));
    }
  }

  /** Uploads a file that a job leaves. */
  async upload({ id, token }: Job, artifact: Artifact, file: string, name: string): Promise<void> {
    const query = new URLSearchParams({
      artifact_type: artifact.artifact_type ?? "archive",
      artifact_format: artifact.artifact_format ?? "zip",
      ...(artifact.expire_in !== undefined && { expire_in: artifact.expire_in }),
    });
    const body = new FormData();
    body.append("file", await openAsBlob(file), name);
    const answer = await fetch(`${this.#api}/jobs/${id}/artifacts?${query}`, {
      method: "POST",
      headers: { "job-token": token },
      body,
    });
    const text = await answer.text();
    if (answer.status !== 201) throw new Error(`${answer.status} ${text.slice(0, 200)}`);
  }

  /** Downloads the artifacts of another job into a file. */
  async download({ id, token }: Dependency, file: string): Promise<void> {
    const answer = await fetch(`${this.#api}/jobs/${id}/artifacts`, {
      headers: { "job-token": token },
    });
    if (answer.status !== 200 || !answer.body) throw new Error(String(answer.status));
    await pipeline(Readable.fromWeb(answer.body as never), createWriteStream(file));
  }

  #post(path: string, sent: object, signal?: AbortSignal): Promise<Response> {
    const info = { ...INFO, executor: this.#executor };
    const runner = { token: this.#token, system_id: this.#system, info };
    return this.#send("POST", path, { ...runner, ...sent }, signal);
  }

  #send(method: string, path: string, sent: object, signal?: AbortSignal): Promise<Response> {
    return fetch(this.#api + path, {
      method,
      headers: { "content-type": "application/json" },
      body: JSON.stringify(sent),
      ...(signal && { signal }),
    });
  }
}

/** How often the end of a job is told that the server does not take. */
const MOST_TRIES = 6;
