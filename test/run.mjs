// `npm test`: installs what is missing, then runs tests. It needs only Node to start.
import { installMissing } from "../cli/install.mjs";

installMissing();
const { register } = await import("tsx/esm/api");
register();
await import("./run/main.ts");
