import { run } from "./program.ts";

/** What shells report for a program that SIGPIPE ended. */
const brokenPipe = 141;

const interrupted = new AbortController();
process.once("SIGINT", () => interrupted.abort());
process.stdout.on("error", () => process.exit(brokenPipe));

process.exitCode = await run(process.argv.slice(2), {
  env: process.env,
  cwd: process.cwd(),
  streams: process,
  signal: interrupted.signal,
});
