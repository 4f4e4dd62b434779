export type { Server } from "./adapters.ts";
export type { RequestOptions } from "./core/http/fetch.ts";
export { createMiddleware, type Middleware, type MiddlewareOptions } from "./node/middleware.ts";
export { type ConnectionServer, type ServeOptions, serve, serveConnections } from "./node/serve.ts";
