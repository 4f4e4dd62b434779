/** Files for `Dockerfile`, by their names. */
export const DOCKERFILES: Readonly<Record<string, string>> = {
  Binary: `# A binary that needs nothing but the C library.
FROM debian:stable-slim

WORKDIR /app
COPY app .

USER nobody
CMD ["./app"]
`,
  "Binary-scratch": `# A statically linked binary, and nothing else.
FROM scratch

COPY app /app

USER 65534
ENTRYPOINT ["/app"]
`,
  Deno: `FROM denoland/deno:debian

WORKDIR /app
COPY . .
RUN deno cache main.ts

USER deno
EXPOSE 8000
CMD ["run", "--allow-net", "main.ts"]
`,
  Golang: `FROM golang:1 AS build

WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -o /app .

FROM scratch
COPY --from=build /app /app
USER 65534
ENTRYPOINT ["/app"]
`,
  HTTPd: `# Static pages from the folder public.
FROM httpd:2.4

COPY public/ /usr/local/apache2/htdocs/
`,
  Java: `FROM maven:3-eclipse-temurin-21 AS build

WORKDIR /src
COPY pom.xml .
RUN mvn -B dependency:go-offline
COPY src src
RUN mvn -B package -DskipTests

FROM eclipse-temurin:21-jre
WORKDIR /app
COPY --from=build /src/target/*.jar app.jar
USER nobody
CMD ["java", "-jar", "app.jar"]
`,
  Nginx: `# Static pages from the folder public.
FROM nginx:stable

COPY public/ /usr/share/nginx/html/
`,
  Node: `FROM node:lts-slim

ENV NODE_ENV=production
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev
COPY . .

USER node
EXPOSE 3000
CMD ["npm", "start"]
`,
  PHP: `FROM php:8-apache

COPY . /var/www/html/
`,
  Python: `FROM python:3-slim

ENV PYTHONUNBUFFERED=1
WORKDIR /app
COPY requirements.txt .
RUN pip install --no-cache-dir -r requirements.txt
COPY . .

USER nobody
CMD ["python", "main.py"]
`,
  Ruby: `FROM ruby:3-slim

RUN apt-get update && apt-get install -y --no-install-recommends build-essential && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY Gemfile Gemfile.lock ./
RUN bundle install
COPY . .

USER nobody
CMD ["ruby", "main.rb"]
`,
  Rust: `FROM rust:1 AS build

WORKDIR /src
COPY . .
RUN cargo install --locked --path . --root /out

FROM debian:stable-slim
COPY --from=build /out/bin/ /usr/local/bin/
USER nobody
# The name of the package in Cargo.toml.
CMD ["app"]
`,
};
