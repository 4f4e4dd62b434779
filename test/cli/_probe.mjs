// Requests an address repeatedly until standard input ends, and prints how many milliseconds each answer took.
import { request } from "node:http";

const [url] = process.argv.slice(2);
const took = [];
let isOver = false;
process.stdin.resume().on("end", () => {
  isOver = true;
});

const ask = () =>
  new Promise((resolve) => {
    const begun = performance.now();
    const done = (status) => resolve({ status, took: performance.now() - begun });
    request(url, { agent: false, localAddress: "127.0.0.3" }, (response) => {
      response.resume().once("end", () => done(response.statusCode));
    })
      .once("error", (error) => done(error.message))
      .end();
  });

while (!isOver) {
  took.push(await ask());
  await new Promise((resolve) => setTimeout(resolve, 40));
}
console.log(JSON.stringify(took));
