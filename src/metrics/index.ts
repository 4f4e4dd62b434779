import type { AnsweredRequest } from "../core/http/access-log.ts";
import { RawReply, type Resource, routes } from "../core/resource.ts";
import { VERSION } from "../core/version.ts";
import { type QueueState, queues } from "../jobs/outbox.ts";
import { periodicJobs } from "../jobs/periodic.ts";
import type { Reader, Store } from "../store/port.ts";
import {
  CONTENT_TYPE,
  type Count,
  Counter,
  type Description,
  type Durations,
  Histogram,
  textOf,
} from "./exposition.ts";
import type { DatabaseTimes } from "./store.ts";

const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
/** Upper bounds in seconds. */
const REQUEST_BUCKETS = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10];
const DATABASE_BUCKETS = [0.0001, 0.0005, 0.0025, 0.01, 0.05, 0.25, 1, 10];
const DELAY_BUCKETS = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5];
/** How often the event loop's delay is measured, in milliseconds. */
const DELAY_INTERVAL = 500;

const gauge = (name: string, help: string, ...labels: string[]): Description => ({
  ...{ name, type: "gauge", help, labels },
});
const counter = (name: string, help: string, ...labels: string[]): Description => ({
  ...{ name, type: "counter", help, labels },
});
const histogram = (name: string, help: string, ...labels: string[]): Description => ({
  ...{ name, type: "histogram", help, labels },
});

const BUILD = gauge(
  "pm_api_build_info",
  "Always 1; the labels say what is running.",
  ...["version", "engine", "runtime", "runtime_version"],
);
const REQUESTS = counter(
  "pm_api_http_requests_total",
  "Requests answered, by the pattern of their path.",
  ...["method", "route", "status"],
);
const DURATIONS = histogram(
  "pm_api_http_request_duration_seconds",
  "Time until the answer was ready.",
  ...["method", "route"],
);
const IN_FLIGHT = gauge("pm_api_http_requests_in_flight", "Requests that are being answered.");
const DATABASE = histogram(
  "pm_api_database_duration_seconds",
  "Time of statements that read or write, and of whole transactions without their wait.",
  "kind",
);
const WAIT = histogram(
  "pm_api_database_wait_seconds",
  "Time for which transactions waited for the write lock or a connection; shared ones on PostgreSQL wait for the lock in their first statement.",
);
const CONNECTIONS = gauge(
  "pm_api_database_connections",
  "Open connections to PostgreSQL, in use or idle, and requests that wait for one.",
  "state",
);
const TASKS = gauge("pm_api_outbox_tasks", "Queued tasks of background work.", "worker", "state");
const OLDEST = gauge(
  "pm_api_outbox_oldest_age_seconds",
  "Age of the oldest task that was not given up; 0 if there is none.",
  "worker",
);
const STUCK = gauge(
  "pm_api_outbox_stuck_tasks",
  "Running tasks whose process has not been heard of for half a minute, or that have run for a quarter of an hour.",
  "worker",
);
const FAILING = gauge(
  "pm_api_outbox_worker_failing",
  "1 while a worker can't reach the service it needs, such as the mail server.",
  "worker",
);
const JOBS = gauge(
  "pm_api_periodic_job_failed",
  "1 if the last run of a periodic job failed, such as a backup.",
  "job",
);
const DELAY = histogram(
  "pm_api_event_loop_delay_seconds",
  "Delay of the event loop, measured twice a second from the first request for metrics on.",
);
const CPU = counter("process_cpu_seconds_total", "CPU time used, user and system.");
const MEMORY = gauge("process_resident_memory_bytes", "Resident memory.");
const HEAP = gauge("process_heap_bytes", "Used part of the JavaScript heap.");
const START = gauge("process_start_time_seconds", "When the process started, in Unix time.");

/** What one application has done, for Prometheus. */
export class Metrics {
  readonly #requests = new Counter(REQUESTS);
  readonly #durations = new Histogram(DURATIONS, REQUEST_BUCKETS);
  readonly #statements = new Histogram(DATABASE, DATABASE_BUCKETS);
  readonly #waits = new Histogram(WAIT, DATABASE_BUCKETS);
  readonly #delays = new Histogram(DELAY, DELAY_BUCKETS);
  readonly #store: Pick<Store, "dialect" | "connections">;
  readonly #inFlight: () => number;
  /** The counts and times of each route, by method and pattern. */
  readonly #routes = new Map<string, { times: Durations; counts: Map<number, Count> }>();
  #timer: NodeJS.Timeout | undefined;

  /** Takes the durations of the application's database. */
  readonly database: DatabaseTimes = {
    read: this.#statements.with("read"),
    write: this.#statements.with("write"),
    transaction: this.#statements.with("transaction"),
    wait: this.#waits.with(),
  };

  /** @param inFlight how many requests are being answered */
  constructor(store: Pick<Store, "dialect" | "connections">, inFlight: () => number) {
    this.#store = store;
    this.#inFlight = inFlight;
  }

  /** Counts a request. Its labels are bounded, whatever clients send. */
  readonly count = ({ incoming, route = "", status, duration }: AnsweredRequest): void => {
    const { method } = incoming;
    const name = METHODS.has(method) ? method : "other";
    const key = `${name} ${route}`;
    let of = this.#routes.get(key);
    if (!of) {
      of = { times: this.#durations.with(name, route), counts: new Map() };
      this.#routes.set(key, of);
    }
    let count = of.counts.get(status);
    if (!count) {
      count = this.#requests.with(name, route, String(status));
      of.counts.set(status, count);
    }
    count.value += 1;
    of.times.observe(duration);
  };

  /** All metrics in {@link CONTENT_TYPE}. */
  async text(db: Reader, now: number): Promise<string> {
    this.#watchEventLoop();
    const all = await queues(db, now);
    const jobs = await periodicJobs(db);
    const perWorker = (of: Description, value: (queue: QueueState) => number) =>
      textOf(
        of,
        all.map((queue) => ({ labels: [queue.worker], value: value(queue) })),
      );
    const memory = process.memoryUsage();
    const cpu = process.cpuUsage();
    return [
      textOf(BUILD, [{ labels: [VERSION, this.#store.dialect, ...runtime()], value: 1 }]),
      this.#requests.text(),
      this.#durations.text(),
      textOf(IN_FLIGHT, [{ labels: [], value: this.#inFlight() }]),
      this.#statements.text(),
      this.#waits.text(),
      textOf(CONNECTIONS, this.#connections()),
      textOf(
        TASKS,
        all.flatMap((queue) =>
          (["waiting", "running", "failed"] as const).map((state) => ({
            ...{ labels: [queue.worker, state], value: queue[state] },
          })),
        ),
      ),
      perWorker(OLDEST, ({ oldestAt }) =>
        oldestAt === null ? 0 : Math.max(0, now - oldestAt) / 1000,
      ),
      perWorker(STUCK, ({ stuck }) => stuck),
      perWorker(FAILING, ({ failingSince }) => (failingSince === null ? 0 : 1)),
      textOf(
        JOBS,
        jobs.map(({ name, failed }) => ({ labels: [name], value: failed ? 1 : 0 })),
      ),
      this.#delays.text(),
      textOf(CPU, [{ labels: [], value: (cpu.user + cpu.system) / 1_000_000 }]),
      textOf(MEMORY, [{ labels: [], value: memory.rss }]),
      textOf(HEAP, [{ labels: [], value: memory.heapUsed }]),
      textOf(START, [{ labels: [], value: Math.round(performance.timeOrigin) / 1000 }]),
    ].join("");
  }

  /** Stops measuring the event loop. */
  close(): void {
    clearInterval(this.#timer);
  }

  #connections() {
    const pool = this.#store.connections?.();
    return Object.entries(pool ?? {}).map(([state, value]) => ({ labels: [state], value }));
  }

  /** Starts with the first request for metrics: applications that nobody watches need no timer. */
  #watchEventLoop(): void {
    if (this.#timer) return;
    const delays = this.#delays.with();
    let expected = performance.now() + DELAY_INTERVAL;
    this.#timer = setInterval(() => {
      const now = performance.now();
      delays.observe(Math.max(0, now - expected));
      expected = now + DELAY_INTERVAL;
    }, DELAY_INTERVAL);
    this.#timer.unref();
  }
}

/** The name of the runtime and its version. */
function runtime(): [name: string, version: string] {
  const { bun, deno, node } = process.versions as Record<string, string | undefined>;
  if (bun !== undefined) return ["bun", bun];
  return deno === undefined ? ["node", node as string] : ["deno", deno];
}

const { get } = routes();

/** The metrics, for administrators: routes and their times say what the server is used for. */
export const metricsResource: Resource = {
  name: "Metrics",
  migrations: [],
  routes: [
    get("/-/metrics", {
      answersWith: "text/plain",
      summary: "Get metrics in Prometheus' text format",
      access: "admin",
      handle: async ({ readMetrics }) => {
        const headers = { "content-type": CONTENT_TYPE, "cache-control": "no-store" };
        return new RawReply(200, headers, await readMetrics());
      },
    }),
  ],
};
