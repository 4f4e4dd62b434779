const header = (about: string) => `# ${about}
# Copy this file to .gitlab-ci.yml and change it as your project needs.
`;

/** Files for `.gitlab-ci.yml`, by their names. */
export const CI_FILES: Readonly<Record<string, string>> = {
  Bash: `${header("Runs shell scripts in stages.")}
build:
  stage: build
  script:
    - echo "Build something here"

test:
  stage: test
  script:
    - echo "Test it here"

deploy:
  stage: deploy
  script:
    - echo "Deploy it here"
  environment: production
  rules:
    - if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH
`,
  "C++": `${header("Builds and tests a program in C++ with CMake.")}
image: gcc:latest

before_script:
  - apt-get update && apt-get install -y cmake

build:
  stage: build
  script:
    - cmake -S . -B build
    - cmake --build build
  artifacts:
    paths:
      - build/

test:
  stage: test
  script:
    - ctest --test-dir build --output-on-failure
`,
  Crystal: `${header("Checks and tests a program in Crystal.")}
image: crystallang/crystal:latest

cache:
  paths:
    - lib/

before_script:
  - shards install

test:
  stage: test
  script:
    - crystal tool format --check
    - crystal spec
`,
  Django: `${header("Tests a site made with Django on PostgreSQL.")}
image: python:3

services:
  - postgres:latest

variables:
  POSTGRES_DB: site
  POSTGRES_USER: runner
  POSTGRES_PASSWORD: runner
  DATABASE_URL: postgres://$POSTGRES_USER:$POSTGRES_PASSWORD@postgres/$POSTGRES_DB

cache:
  paths:
    - .cache/pip

test:
  stage: test
  before_script:
    - pip install --cache-dir .cache/pip -r requirements.txt
  script:
    - python manage.py makemigrations --check --dry-run
    - python manage.py test
`,
  Docker: `${header("Builds a container image and pushes it to the project's registry.")}
build:
  stage: build
  image: docker:latest
  services:
    - docker:dind
  variables:
    IMAGE: $CI_REGISTRY_IMAGE:$CI_COMMIT_REF_SLUG
  before_script:
    - echo "$CI_REGISTRY_PASSWORD" | docker login -u "$CI_REGISTRY_USER" --password-stdin "$CI_REGISTRY"
  script:
    - docker build --pull -t "$IMAGE" .
    - docker push "$IMAGE"
  rules:
    - if: $CI_COMMIT_BRANCH
      exists:
        - Dockerfile
`,
  "dotNET-Core": `${header("Builds and tests a project in .NET.")}
image: mcr.microsoft.com/dotnet/sdk:9.0

variables:
  NUGET_PACKAGES: $CI_PROJECT_DIR/.nuget

cache:
  paths:
    - .nuget/

build:
  stage: build
  script:
    - dotnet build

test:
  stage: test
  script:
    - dotnet test
`,
  Elixir: `${header("Checks and tests a project in Elixir.")}
image: elixir:latest

variables:
  MIX_ENV: test

cache:
  paths:
    - deps/
    - _build/

before_script:
  - mix local.hex --force
  - mix local.rebar --force
  - mix deps.get

test:
  stage: test
  script:
    - mix format --check-formatted
    - mix compile --warnings-as-errors
    - mix test
`,
  Flutter: `${header("Checks and tests an app made with Flutter.")}
image: ghcr.io/cirruslabs/flutter:stable

check:
  stage: test
  script:
    - flutter pub get
    - dart format --output none --set-exit-if-changed .
    - flutter analyze

test:
  stage: test
  script:
    - flutter test --coverage
  coverage: '/lines\\.+: (\\d+\\.\\d+%)/'
`,
  "Getting-Started": `${header("Shows stages, jobs and dependencies between them.")}
stages:
  - build
  - test
  - deploy

build-job:
  stage: build
  script:
    - echo "Compiling the code" > result.txt
  artifacts:
    paths:
      - result.txt

unit-test-job:
  stage: test
  script:
    - cat result.txt

lint-test-job:
  stage: test
  needs: []
  script:
    - echo "It needs no result of the stage before, so it starts at once"

deploy-job:
  stage: deploy
  environment: production
  script:
    - echo "Deploying $CI_COMMIT_SHORT_SHA"
  rules:
    - if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH
`,
  Go: `${header("Checks, tests and builds a program in Go.")}
image: golang:latest

check:
  stage: test
  script:
    - test -z "$(gofmt -l .)"
    - go vet ./...

test:
  stage: test
  script:
    - go test -race ./...

build:
  stage: build
  script:
    - mkdir -p bin
    - go build -o bin ./...
  artifacts:
    paths:
      - bin/
`,
  Gradle: `${header("Builds and tests a project with Gradle.")}
image: gradle:jdk21

variables:
  GRADLE_OPTS: "-Dorg.gradle.daemon=false"

cache:
  key: $CI_COMMIT_REF_NAME
  paths:
    - .gradle/wrapper
    - .gradle/caches

build:
  stage: build
  script:
    - gradle assemble
  artifacts:
    paths:
      - build/libs/

test:
  stage: test
  script:
    - gradle check
`,
  Julia: `${header("Tests a package in several versions of Julia.")}
test:
  stage: test
  image: julia:$VERSION
  parallel:
    matrix:
      - VERSION: ["1.10", "1"]
  script:
    - julia --project -e 'import Pkg; Pkg.build(); Pkg.test(coverage = true)'
`,
  Laravel: `${header("Tests a site made with Laravel on MySQL.")}
image: php:8

services:
  - mysql:latest

variables:
  MYSQL_DATABASE: site
  MYSQL_ROOT_PASSWORD: secret
  DB_HOST: mysql
  DB_USERNAME: root
  DB_PASSWORD: $MYSQL_ROOT_PASSWORD

cache:
  paths:
    - vendor/

test:
  stage: test
  before_script:
    - apt-get update && apt-get install -y git unzip
    - docker-php-ext-install pdo_mysql
    - curl -sS https://getcomposer.org/installer | php
    - php composer.phar install
    - cp .env.example .env
    - php artisan key:generate
    - php artisan migrate --force
  script:
    - php artisan test
`,
  LaTeX: `${header("Makes a PDF of a document in LaTeX.")}
image: texlive/texlive:latest

build:
  stage: build
  script:
    - latexmk -pdf -interaction=nonstopmode
  artifacts:
    paths:
      - "*.pdf"
`,
  Maven: `${header("Builds and tests a project with Maven.")}
image: maven:3-eclipse-temurin-21

variables:
  MAVEN_OPTS: "-Dmaven.repo.local=.m2/repository"

cache:
  paths:
    - .m2/repository

build:
  stage: build
  script:
    - mvn -B compile

test:
  stage: test
  script:
    - mvn -B verify
  artifacts:
    reports:
      junit: target/surefire-reports/TEST-*.xml
`,
  Nodejs: `${header("Tests a project on several versions of Node.")}
default:
  cache:
    key:
      files:
        - package-lock.json
    paths:
      - .npm/

test:
  stage: test
  image: node:$VERSION
  parallel:
    matrix:
      - VERSION: ["20", "22", "24"]
  script:
    - npm ci --cache .npm --prefer-offline
    - npm test
`,
  Packer: `${header("Checks images of machines, and builds them by hand.")}
image:
  name: hashicorp/packer:latest
  entrypoint: [""]

before_script:
  - packer init .

validate:
  stage: test
  script:
    - packer fmt -check .
    - packer validate .

build:
  stage: deploy
  script:
    - packer build .
  rules:
    - if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH
      when: manual
`,
  PHP: `${header("Tests a project in PHP with PHPUnit.")}
image: php:8

cache:
  paths:
    - vendor/

before_script:
  - apt-get update && apt-get install -y git unzip
  - curl -sS https://getcomposer.org/installer | php
  - php composer.phar install

test:
  stage: test
  script:
    - vendor/bin/phpunit
`,
  Python: `${header("Tests a project in Python with pytest.")}
image: python:3

variables:
  PIP_CACHE_DIR: "$CI_PROJECT_DIR/.cache/pip"

cache:
  paths:
    - .cache/pip

test:
  stage: test
  before_script:
    - pip install -r requirements.txt pytest
  script:
    - pytest --junitxml=report.xml
  artifacts:
    when: always
    reports:
      junit: report.xml
`,
  Ruby: `${header("Tests a project in Ruby with RSpec.")}
image: ruby:3

cache:
  paths:
    - vendor/ruby

before_script:
  - bundle config set path vendor/ruby
  - bundle install -j "$(nproc)"

rubocop:
  stage: test
  script:
    - bundle exec rubocop
  allow_failure: true

rspec:
  stage: test
  script:
    - bundle exec rspec
`,
  Rust: `${header("Checks and tests a project in Rust.")}
image: rust:latest

variables:
  CARGO_HOME: $CI_PROJECT_DIR/.cargo

cache:
  key: $CI_COMMIT_REF_SLUG
  paths:
    - .cargo/registry
    - target/

check:
  stage: test
  before_script:
    - rustup component add clippy rustfmt
  script:
    - cargo fmt --check
    - cargo clippy -- -D warnings

test:
  stage: test
  script:
    - cargo test --workspace
`,
  Scala: `${header("Tests a project in Scala with sbt.")}
image: sbtscala/scala-sbt:eclipse-temurin-21.0.8_9_1.11.5_3.7.2

cache:
  paths:
    - .ivy2/
    - .sbt/

test:
  stage: test
  script:
    - sbt -Dsbt.ivy.home=.ivy2 -Dsbt.global.base=.sbt clean test
`,
  Swift: `${header("Builds and tests a package in Swift.")}
image: swift:latest

cache:
  paths:
    - .build/

build:
  stage: build
  script:
    - swift build

test:
  stage: test
  script:
    - swift test --parallel
`,
  Terraform: `${header("Plans changes of the infrastructure, and applies them by hand.")}
image:
  name: hashicorp/terraform:latest
  entrypoint: [""]

before_script:
  - terraform init -input=false

plan:
  stage: build
  script:
    - terraform validate
    - terraform plan -input=false -out=plan.cache
  artifacts:
    paths:
      - plan.cache

apply:
  stage: deploy
  script:
    - terraform apply -input=false plan.cache
  rules:
    - if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH
      when: manual
`,
};
