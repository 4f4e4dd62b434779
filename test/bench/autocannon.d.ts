declare module "autocannon" {
  /** The parts used by the benchmark. */
  export default function autocannon(options: {
    url: string;
    connections: number;
    /** Seconds; without it, `amount`. */
    duration?: number;
    /** Total number of requests. */
    amount?: number;
    method?: "GET" | "POST";
    headers?: Record<string, string>;
    /** `[<id>]` is replaced by a unique id with `idReplacement`. */
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
