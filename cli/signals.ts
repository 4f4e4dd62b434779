/** npm and npx pass on a Ctrl-C that the terminal has sent already: within this time two signals are one. */
const ECHO_MILLISECONDS = 100;

/** Waits for the next signal to end. */
export function signal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const name of ["SIGTERM", "SIGINT"] as const) process.on(name, resolve);
  });
}

/** Waits for a signal that is not the echo of one that has just come. */
export async function nextSignal(): Promise<NodeJS.Signals> {
  await new Promise((resolve) => setTimeout(resolve, ECHO_MILLISECONDS));
  return signal();
}
