import { holdsSecret, originOf } from "./arguments.ts";
import { run } from "./program.ts";

/** What shells report for a program that SIGPIPE ended. */
const brokenPipe = 141;

const interrupted = new AbortController();
process.once("SIGINT", () => interrupted.abort());
process.stdout.on("error", () => process.exit(brokenPipe));

const words = process.argv.slice(2);
// Whoever lists processes reads their command lines.
if (holdsSecret(words)) process.title = originOf(words);

process.exitCode = await run(words, {
  env: process.env,
  cwd: process.cwd(),
  program: [process.execPath, ...process.execArgv, process.argv[1] ?? ""],
  streams: process,
  signal: interrupted.signal,
});
