// Preloaded into a server: on SIGUSR2 it prints the bytes of V8's space for new objects.
import { getHeapSpaceStatistics } from "node:v8";

process.on("SIGUSR2", () => {
  const [space] = getHeapSpaceStatistics().filter(({ space_name }) => space_name === "new_space");
  console.error(JSON.stringify({ newSpace: space.space_size }));
});
