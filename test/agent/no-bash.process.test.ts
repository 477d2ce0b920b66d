import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

const module = JSON.stringify(join(import.meta.dirname, "../../agent/process.ts"));
/** Runs a script in a folder, and says how it ended. */
const program = `
  import { runScript } from ${module};
  const [folder, text] = process.argv.slice(1);
  const where = { name: "hook", folder, workdir: folder, workdirLink: null, logFile: folder + "/log" };
  const env = { PATH: "/usr/bin:/bin", HOME: folder };
  const mark = "HOME=" + folder;
  setInterval(() => {}, 1_000);
  console.log(JSON.stringify(await runScript({ ...where, text, env, mark }, new AbortController().signal)));
  process.exit();`;
/** Only this process and those that it starts see no bash. */
const hiding = `
  for bash in /bin/bash /usr/bin/bash; do
    [ ! -e $bash ] || mount --bind /dev/null $bash || exit
  done
  echo hidden
  exec "$@"`;

/** Runs a script where there is no bash; undefined where bash cannot be hidden. */
function runWithoutBash(folder: string, text: string): string | undefined {
  const node = [process.execPath, "--input-type=module", "-e", program, folder, text];
  const { stdout, stderr } = spawnSync("unshare", ["-rm", "sh", "-c", hiding, "sh", ...node]);
  const [said, told] = stdout.toString().split("\n");
  return said === "hidden" ? (told ?? stderr.toString()) : undefined;
}

test("where there is no bash a script runs in sh", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "scripts-"));
  t.after(() => rmSync(folder, { recursive: true, maxRetries: 3 }));
  const told = runWithoutBash(
    folder,
    'echo "$0 $BASH_VERSION" $(command -v bash) $BASH_ENV; exit 3',
  );
  if (told === undefined) return t.skip("bash cannot be hidden here");

  assert.deepEqual(JSON.parse(told), { code: 3 });
  assert.equal(readFileSync(join(folder, "log"), "utf8"), `${folder}/hook.sh \n`);
});
