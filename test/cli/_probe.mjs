// Requests an address so often, and prints for each answer how many milliseconds of CPU time the main thread of the
// server's process spent until it came (0 if the platform does not tell), and beside them how many this process spends
// on reading a mebibyte of JSON.
import { existsSync, readFileSync } from "node:fs";
import { request } from "node:http";

const [url, pid, count] = process.argv.slice(2);
const mebibyte = `[${"0,".repeat(512 * 1024 - 1)}0]`;
/** After so many answers, the plain work is measured again. */
const PLAIN_EACH = 10;
const took = [];
const plain = [];

const spent = () => {
  const file = `/proc/${pid}/schedstat`;
  return existsSync(file) ? Number(readFileSync(file, "utf8").split(" ")[0]) / 1e6 : 0;
};

const ask = () =>
  new Promise((resolve) => {
    const before = spent();
    const done = (status) => resolve({ status, took: spent() - before });
    request(url, { agent: false, localAddress: "127.0.0.3" }, (response) => {
      response.resume().once("end", () => done(response.statusCode));
    })
      .once("error", (error) => done(error.message))
      .end();
  });

function readPlainly() {
  const before = process.cpuUsage();
  JSON.parse(mebibyte);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

for (let number = 0; number < Number(count); number += 1) {
  if (number % PLAIN_EACH === 0) plain.push(readPlainly());
  took.push(await ask());
  await new Promise((resolve) => setTimeout(resolve, 40));
}
console.log(JSON.stringify({ took, plain }));
