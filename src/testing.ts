export { OptionError } from "./core/options.ts";
export { SeedError } from "./core/seeding.ts";
export type { Seed } from "./seed/input.ts";
export type { ChangedRecord, Changes, UpdatedRecord } from "./testing/changes/changes.ts";
export type {
  Expectation,
  ExpectedRecord,
  ExpectedUpdate,
  Verdict,
} from "./testing/changes/expectations.ts";
export type { Clock, Instant } from "./testing/clock.ts";
export type { Fault, Faults } from "./testing/faults.ts";
export { startTestServer, type TestServer, type TestServerOptions } from "./testing/index.ts";
export type { RateLimit } from "./testing/rate-limit.ts";
export type { ChangesOptions, Snapshots, TestRequest } from "./testing/world.ts";
