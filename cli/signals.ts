/** npm and npx forward a Ctrl-C that the terminal has sent already, so two signals within this time count as one. */
const ECHO_MILLISECONDS = 100;

/** Waits for the next SIGTERM or SIGINT. */
export function signal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const name of ["SIGTERM", "SIGINT"] as const) process.on(name, resolve);
  });
}

/** Waits for a signal that is not an echo of the previous one. */
export async function nextSignal(): Promise<NodeJS.Signals> {
  await new Promise((resolve) => setTimeout(resolve, ECHO_MILLISECONDS));
  return signal();
}
