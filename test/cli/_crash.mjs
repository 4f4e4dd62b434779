// Makes a process fail on SIGUSR2 with an exception that nobody catches, and says at its end how often it wrote to
// standard output.
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const { writeSync } = fs;
let writes = 0;
fs.writeSync = (file, ...rest) => {
  if (file === 1) writes += 1;
  return writeSync(file, ...rest);
};
syncBuiltinESMExports();
process.on("SIGUSR2", () => {
  setTimeout(() => {
    throw new Error("on purpose");
  });
});
process.on("exit", () => writeSync(2, `${JSON.stringify({ writes })}\n`));
