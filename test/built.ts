import { existsSync } from "node:fs";

/** Tests of what is built need a build. */
export default function setup(): void {
  if (!existsSync(new URL("../dist/pm-cli.js", import.meta.url))) {
    throw new Error("There is no dist, which these tests need: run `npm run build` first.");
  }
}
