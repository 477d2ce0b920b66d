import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { commandLine } from "./command-line.ts";
import { fakeControl, sendJson } from "./fake-control.ts";

const run = promisify(execFile);
const launcher = join(import.meta.dirname, "../../bin/outrigger");

/** What bash would offer for a line whose last word is being typed. */
async function offers(t: TestContext, line: string): Promise<string[]> {
  const control = await fakeControl(t, {
    "GET /api/completion/cluster_name": ({ query }, res) =>
      sendJson(res, 200, [`${query.get("incomplete")}ev-1`, `${query.get("incomplete")}ev-2`]),
  });
  const outrigger = await commandLine(t, control.endpoint);
  const { stdout: script } = await outrigger(["completion", "bash"]);
  const file = join(outrigger.folder, "completion.bash");
  const words = line.split(" ");
  const lines = [
    script,
    `outrigger() { '${launcher}' "$@"; }`,
    `COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")}) COMP_CWORD=${words.length - 1}`,
    `_outrigger; printf '%s\\n' "\${COMPREPLY[@]}"`,
  ];
  await writeFile(file, lines.join("\n"));
  const env = {
    ...process.env,
    OUTRIGGER_ENDPOINT: control.endpoint,
    OUTRIGGER_HOME: outrigger.folder,
  };
  const { stdout } = await run("bash", [file], { env });
  return stdout.trim().split("\n");
}

test("bash offers commands, options, sub-commands and clusters", async (t) => {
  assert.deepEqual(await offers(t, "outrigger la"), ["launch"]);
  assert.deepEqual(await offers(t, "outrigger si"), ["sidecar"]);
  assert.deepEqual(await offers(t, "outrigger launch --detach"), ["--detach-run"]);
  assert.deepEqual(await offers(t, "outrigger api st"), ["start", "stop", "status"]);
  assert.deepEqual(await offers(t, "outrigger agent u"), ["uninstall"]);
  assert.deepEqual(await offers(t, "outrigger down d"), ["dev-1", "dev-2"]);
  assert.deepEqual(await offers(t, "outrigger launch -c d"), ["dev-1", "dev-2"]);
  assert.deepEqual(await offers(t, "outrigger completion z"), ["zsh"]);
});

test("bash offers values of options, contexts, and files where a file is meant", async (t) => {
  assert.deepEqual(await offers(t, "outrigger status -o "), ["table", "json"]);
  assert.deepEqual(await offers(t, "outrigger status --output = j"), ["json"]);
  assert.deepEqual(await offers(t, "outrigger --context de"), ["default"]);
  assert.deepEqual(await offers(t, "outrigger --context default context use d"), ["default"]);
  assert.deepEqual(await offers(t, "outrigger launch --env-file /etc/hostn"), ["/etc/hostname"]);
  assert.deepEqual(await offers(t, "outrigger launch --num-nodes "), [""]);
});

test("an offer says what it means, and keeps the flag that it is a value of", async (t) => {
  const outrigger = await commandLine(t, "http://127.0.0.1:9");
  const answer = async (...words: string[]) => (await outrigger(["complete", ...words])).stdout;

  assert.match(await answer("=laun"), /^launch\tCreate a cluster/);
  assert.equal(await answer("=--output=j", "status"), "--output=json\n");
  assert.match(await answer("=--he", "status"), /^--help\t/);
  assert.equal(await answer("=", "exec", "dev", "--"), ":files\n");
  assert.equal(await answer("=", "nothing", "there"), await answer("=-", "nothing", "there"));
});

/** Shells that read a script without running it. */
const checks = { bash: ["bash", "-n"], zsh: ["bash", "-n"] } as const;

for (const [shell, [command, ...words]] of Object.entries(checks))
  test(`the script for ${shell} is sound shell`, async (t) => {
    const outrigger = await commandLine(t, "http://127.0.0.1:9");
    const { stdout, code } = await outrigger(["completion", shell]);

    const checker = spawn(command, words, { stdio: ["pipe", "inherit", "inherit"] });
    checker.stdin.end(stdout);
    const [checked] = await new Promise<[number]>((resolve) =>
      checker.once("close", (...ending) => resolve([ending[0] ?? -1])),
    );

    assert.equal(code, 0);
    assert.equal(checked, 0);
  });

test("the scripts for fish and PowerShell close what they open", async (t) => {
  const outrigger = await commandLine(t, "http://127.0.0.1:9");
  const [fish, powershell] = [
    await outrigger(["completion", "fish"]),
    await outrigger(["completion", "powershell"]),
  ];
  const count = (text: string, pattern: RegExp) => text.match(pattern)?.length ?? 0;

  const opened = count(fish.stdout, /^ *(function|if|while|for)\b/gm);
  assert.equal(opened, count(fish.stdout, /^ *end$/gm));
  for (const [open, close] of [
    [/\{/g, /\}/g],
    [/\(/g, /\)/g],
    [/\[/g, /\]/g],
  ] as const)
    assert.equal(count(powershell.stdout, open), count(powershell.stdout, close));
  for (const { code, stdout } of [fish, powershell])
    assert.deepEqual([code, count(stdout, /outrigger complete "=\$current"/g)], [0, 1]);
});

test("without a control plane completion is silent, and it knows no other shell", async (t) => {
  const outrigger = await commandLine(t, "http://127.0.0.1:9");

  const silent = await outrigger(["complete", "=d", "down"]);
  const unknown = await outrigger(["completion", "tcsh"]);

  assert.deepEqual(silent, { code: 0, stdout: "", stderr: "" });
  assert.equal(unknown.code, 2);
});
