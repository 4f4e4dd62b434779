declare module "autocannon" {
  interface Sent {
    path?: string;
    headers?: Record<string, string>;
    body?: string | undefined;
  }

  /** The parts used by the benchmark. */
  export default function autocannon(options: {
    url: string;
    connections: number;
    /** Seconds; without it, `amount`. */
    duration?: number;
    /** Total number of requests. */
    amount?: number;
    method?: "GET" | "POST" | "PUT" | "PATCH";
    headers?: Record<string, string>;
    body?: string;
    /** Called before each request, with what all requests have in common. */
    requests?: { setupRequest(sent: Sent): Sent }[];
  }): Promise<{
    /** Seconds. */
    duration: number;
    errors: number;
    timeouts: number;
    non2xx: number;
    requests: { total: number };
  }>;
}
