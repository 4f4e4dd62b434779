// Prometheus' text format, version 0.0.4: https://prometheus.io/docs/instrumenting/exposition_formats/

/** The media type of the format. */
export const CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** What a metric is, for its header in the format. */
export interface Description {
  name: string;
  type: "counter" | "gauge" | "histogram";
  /** One sentence. */
  help: string;
  /** The names of its labels. */
  labels: readonly string[];
}

/** A value with the values of its metric's labels, in order. */
export interface Sample {
  labels: readonly string[];
  value: number;
}

/** Counts things by their labels. */
export class Counter {
  readonly #counts: Count[] = [];

  constructor(readonly description: Description) {}

  /** Begins to count those with these labels. To be called once for the same labels. */
  with(...labels: string[]): Count {
    const count = { labels, value: 0 };
    this.#counts.push(count);
    return count;
  }

  text(): string {
    return textOf(this.description, this.#counts);
  }
}

/** A number that only grows. */
export interface Count extends Sample {
  value: number;
}

/** How often durations were within each bucket, for one set of labels. */
export class Durations {
  readonly #bounds: readonly number[];
  readonly counts: number[];
  sum = 0;
  count = 0;

  constructor(
    bounds: readonly number[],
    readonly labels: readonly string[],
  ) {
    this.#bounds = bounds;
    this.counts = bounds.map(() => 0);
  }

  /** @param milliseconds the duration */
  observe(milliseconds: number): void {
    const seconds = milliseconds / 1000;
    this.sum += seconds;
    this.count += 1;
    for (let at = 0; at < this.#bounds.length; at += 1) {
      if (seconds <= (this.#bounds[at] as number)) {
        this.counts[at] = (this.counts[at] as number) + 1;
        return;
      }
    }
  }
}

/** The distribution of durations by their labels. */
export class Histogram {
  readonly #all: Durations[] = [];

  /** @param bounds the upper bounds of its buckets, in seconds, ascending */
  constructor(
    readonly description: Description,
    readonly bounds: readonly number[],
  ) {}

  /** Begins to measure those with these labels. To be called once for the same labels. */
  with(...labels: string[]): Durations {
    const durations = new Durations(this.bounds, labels);
    this.#all.push(durations);
    return durations;
  }

  text(): string {
    const { name } = this.description;
    const lines = [header(this.description)];
    const names = this.description.labels;
    for (const { labels, counts, sum, count } of this.#all) {
      let total = 0;
      for (const [at, bound] of this.bounds.entries()) {
        total += counts[at] as number;
        lines.push(line(`${name}_bucket`, [...names, "le"], [...labels, String(bound)], total));
      }
      lines.push(line(`${name}_bucket`, [...names, "le"], [...labels, "+Inf"], count));
      lines.push(
        line(`${name}_sum`, names, labels, sum),
        line(`${name}_count`, names, labels, count),
      );
    }
    return lines.join("");
  }
}

/** A metric whose values were just read. */
export function textOf(description: Description, samples: readonly Sample[]): string {
  const { name, labels: names } = description;
  const lines = samples.map(({ labels, value }) => line(name, names, labels, value));
  return [header(description), ...lines].join("");
}

function header({ name, type, help }: Description): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
}

function line(name: string, names: readonly string[], labels: readonly string[], value: number) {
  const pairs = names.map((label, at) => `${label}="${escaped(labels[at] as string)}"`).join(",");
  return `${name}${pairs === "" ? "" : `{${pairs}}`} ${value}\n`;
}

const ESCAPES: Readonly<Record<string, string>> = { "\\": "\\\\", '"': '\\"', "\n": "\\n" };

function escaped(value: string): string {
  return value.replace(/[\\"\n]/g, (character) => ESCAPES[character] as string);
}
