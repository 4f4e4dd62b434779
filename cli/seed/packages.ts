import type { Seed } from "../../src/index.ts";

type Project = NonNullable<Seed["projects"]>[number];
type Dependency = NonNullable<Project["dependencies"]>[number];
type Manager = "bundler" | "composer" | "maven" | "npm" | "pip" | "yarn";

/** A file for each manager with its packages: name and version, then a vulnerability of that version, if any. */
const FILES: Record<Manager, readonly [path: string, packages: readonly string[]]> = {
  bundler: [
    "Gemfile.lock",
    [
      "rack 2.2.8 medium CVE-2024-26141: Possible denial of service with Range headers in Rack",
      "rails 7.1.5",
      "nokogiri 1.18.9",
      "puma 6.4.3",
      "sidekiq 7.3.9",
      "pg 1.5.9",
      "faraday 2.12.2",
      "devise 4.9.4",
      "rexml 3.3.1 high CVE-2024-41946: REXML denial of service",
    ],
  ],
  composer: [
    "composer.lock",
    [
      "symfony/http-foundation 7.1.6 low CVE-2024-50345: Open redirect through browser-sanitized URLs",
      "symfony/console 7.1.8",
      "monolog/monolog 3.8.0",
      "doctrine/orm 3.3.1",
      "guzzlehttp/guzzle 7.9.2",
      "twig/twig 3.15.0",
    ],
  ],
  maven: [
    "pom.xml",
    [
      "org.springframework/spring-web 6.1.12 high CVE-2024-38816: Path traversal in functional web frameworks",
      "com.fasterxml.jackson.core/jackson-databind 2.18.2",
      "org.postgresql/postgresql 42.7.4",
      "ch.qos.logback/logback-classic 1.5.12",
      "com.google.guava/guava 33.3.1-jre",
      "org.junit.jupiter/junit-jupiter 5.11.4",
    ],
  ],
  npm: [
    "package-lock.json",
    [
      "express 4.21.2",
      "path-to-regexp 0.1.10 high CVE-2024-52798: Unpatched path-to-regexp ReDoS",
      "ws 8.17.0 high CVE-2024-37890: Denial of service by many HTTP headers",
      "react 18.3.1",
      "react-dom 18.3.1",
      "vite 5.4.11",
      "pino 9.5.0",
      "undici 6.21.0",
      "zod 3.24.1",
      "cookie 0.6.0 low CVE-2024-47764: Out of bounds characters in names, paths and domains",
      "knex 3.1.0",
    ],
  ],
  pip: [
    "requirements.txt",
    [
      "django 5.1.4",
      "jinja2 3.1.4 medium CVE-2024-56326: Sandbox breakout through indirect reference to format",
      "requests 2.32.3",
      "celery 5.4.0",
      "numpy 2.1.3",
      "pandas 2.2.3",
      "sqlalchemy 2.0.36",
      "gunicorn 22.0.0",
    ],
  ],
  yarn: [
    "web/yarn.lock",
    [
      "vue 3.5.13",
      "pinia 2.3.0",
      "axios 1.7.4 high CVE-2025-27152: Requests with absolute URLs leak credentials",
      "rollup 4.28.1",
      "esbuild 0.24.0 medium GHSA-67mh-4wv8-2f99: Any website can send requests to the development server",
      "eslint 9.16.0",
    ],
  ],
};

/** The dependencies of a project with this package manager. */
export function packagesOf(manager: Manager): Dependency[] {
  const [dependency_file_path, packages] = FILES[manager];
  return packages.map((line) => {
    const [name = "", version = "", severity, ...words] = line.split(" ");
    return {
      name,
      version,
      package_manager: manager,
      dependency_file_path,
      vulnerabilities: severity ? [{ name: words.join(" "), severity: severity as Severity }] : [],
    };
  });
}

type Severity = NonNullable<Dependency["vulnerabilities"]>[number]["severity"];

/** Package managers by the project topics that imply them. */
export const MANAGERS: Readonly<Record<string, Manager>> = {
  frontend: "yarn",
  ruby: "bundler",
  python: "pip",
  kotlin: "maven",
  legacy: "composer",
};
