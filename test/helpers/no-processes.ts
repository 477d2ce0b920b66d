/** A module that unit tests are run with: once it is imported, whatever starts a process throws. */
import childProcess from "node:child_process";
import { syncBuiltinESMExports } from "node:module";

const why = "a unit test starts no process: name its file *.process.test.ts";

function refuse(): never {
  const error = new Error(why);
  // Also where the caller takes the error for one of the machine.
  process.once("exit", () => {
    console.error(error.stack);
    process.exitCode = 1;
  });
  throw error;
}

/** What `spawn`, `exec`, `execFile` and `fork` go through; the others go their own ways. */
Object.assign(childProcess.ChildProcess.prototype, { spawn: refuse });
Object.assign(childProcess, { spawnSync: refuse, execSync: refuse, execFileSync: refuse });
syncBuiltinESMExports();
