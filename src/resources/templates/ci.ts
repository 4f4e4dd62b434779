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
