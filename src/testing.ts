export { OptionError } from "./core/options.ts";
export { SeedError } from "./core/seeding.ts";
export type { Seed } from "./seed/input.ts";
export type { Clock, Instant } from "./testing/clock.ts";
export type { AddedFault, Fault, Faults } from "./testing/faults.ts";
export { startTestServer, type TestServer, type TestServerOptions } from "./testing/index.ts";
export type { LimitChanges, Limits } from "./testing/limits.ts";
export type { RateLimit } from "./testing/rate-limit.ts";
export {
  type AnsweredBy,
  NothingArrived,
  type Received,
  type RequestFilter,
  type TestAnswer,
  type TestRequest,
  type WaitOptions,
} from "./testing/requests.ts";
