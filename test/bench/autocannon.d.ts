declare module "autocannon" {
  /** What the bench uses of it. */
  export default function autocannon(options: {
    url: string;
    connections: number;
    /** Seconds; without it, `amount`. */
    duration?: number;
    /** Requests in all. */
    amount?: number;
    method?: "GET" | "POST";
    headers?: Record<string, string>;
    /** Each `[<id>]` in it becomes an id of its own with `idReplacement`. */
    body?: string;
    idReplacement?: boolean;
  }): Promise<{
    /** Seconds. */
    duration: number;
    errors: number;
    timeouts: number;
    non2xx: number;
    requests: { total: number };
  }>;
}
