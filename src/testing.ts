export type { Strictness } from "./core/http/strict.ts";
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
export type { AddedFault, Fault, Faults } from "./testing/faults.ts";
export type { HookFilter, Hooks, TestHookCall } from "./testing/hooks.ts";
export { startTestServer, type TestServer, type TestServerOptions } from "./testing/index.ts";
export type { LimitChanges, Limits } from "./testing/limits.ts";
export type { MailFilter, Mails, TestMail } from "./testing/mails.ts";
export type { RateLimit } from "./testing/rate-limit.ts";
export type {
  AnsweredBy,
  Received,
  RequestFilter,
  TestAnswer,
  TestRequest,
} from "./testing/requests.ts";
export type {
  EndedPipeline,
  JobFate,
  JobScript,
  RunnerScript,
  TestRunner,
} from "./testing/runner.ts";
export type { Strict } from "./testing/strict.ts";
export type { SetStub, Stub, Stubs } from "./testing/stubs.ts";
export { NothingArrived, type WaitOptions } from "./testing/waiting.ts";
export type { ChangesOptions, Snapshots } from "./testing/world.ts";
export type { WorldAddress } from "./testing/worlds.ts";
