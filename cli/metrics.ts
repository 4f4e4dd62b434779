import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { report } from "./log.ts";

/** A server of metrics. */
export interface MetricsServer {
  /** The address that Prometheus reads. */
  url: string;
  close(): void;
}

/**
 * Serves metrics at `/metrics`, without a token: only those who reach the address should be able to read them.
 *
 * @param read returns them in Prometheus' text format
 * @throws the system's error if the address can't be listened on
 */
export async function serveMetrics(
  read: () => Promise<string>,
  host: string,
  port: number,
): Promise<MetricsServer> {
  const server = createServer((request, response) => {
    const isMetrics = request.url?.split("?", 1)[0] === "/metrics";
    if (!isMetrics || (request.method !== "GET" && request.method !== "HEAD")) {
      response.writeHead(isMetrics ? 405 : 404, isMetrics ? { allow: "GET, HEAD" } : {}).end();
      return;
    }
    const type = "text/plain; version=0.0.4; charset=utf-8";
    read().then(
      (text) => response.writeHead(200, { "content-type": type }).end(text),
      (error: unknown) => {
        report(error);
        response.writeHead(503).end();
      },
    );
  });
  server.listen(port, host);
  await once(server, "listening");
  const { port: actual } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${actual}/metrics`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/**
 * One text with the metrics of several processes, each with the label `process`. The format wants all values of a
 * metric together.
 *
 * @param texts by the name of the process
 */
export function merged(texts: ReadonlyMap<string, string>): string {
  const metrics = new Map<string, string[]>();
  for (const [name, text] of texts) {
    for (const metric of text.split(/^(?=# HELP )/m)) {
      const [help = "", type = "", ...lines] = metric.split("\n");
      const header = `${help}\n${type}\n`;
      const known = metrics.get(header) ?? [];
      metrics.set(header, known);
      for (const line of lines) if (line !== "") known.push(labelled(line, name));
    }
  }
  return [...metrics].map(([header, lines]) => header + lines.join("")).join("");
}

function labelled(line: string, name: string): string {
  const [, metric, labels, value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
  return `${metric}{process="${name}"${labels === undefined ? "" : `,${labels}`}} ${value}\n`;
}
