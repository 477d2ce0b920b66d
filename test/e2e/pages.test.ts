import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { findPort } from "../../sidecar/wrap.ts";
import { processesOf } from "../helpers/programs.ts";
import { mainOf } from "../helpers/tested.ts";

const root = join(import.meta.dirname, "../..");
const results = /\/tmp\/(outrigger-checkpoints|careful-results)/g;

for (const page of ["README.md", "docs/tutorial.md"])
  test(`${page} shows what its commands print`, async (t) => {
    const steps = stepsOf(readFileSync(join(root, page), "utf8"));
    assert.ok(steps.length > 5);
    // One after the other: services take the ports that the page shows.
    for (const columns of [80, 200])
      await t.test(`in ${columns} columns`, (t) => follow(t, steps, columns));
  });

/** Types each step and looks for what the page shows of it. */
async function follow(t: TestContext, steps: readonly Step[], columns: number) {
  const { folder, env } = await openDesk(t);
  const sidecarPort = String(await findPort());
  for (const { commands, shown } of steps) {
    const line = commands
      .replaceAll(results, join(folder, "kept"))
      .replaceAll("127.0.0.1:8080", `127.0.0.1:${sidecarPort}`)
      .replace(/^outrigger shell \w+/m, "$& <<< exit");
    const { code, output } = await type(`${line}\nwait`, columns, folder, env);
    assert.equal(code, 0, output);
    const lines = linesOf(output);
    const wanted = linesOf(shown.replaceAll(results, join(folder, "kept")));
    const missing = wanted.filter((one) => !lines.some((line) => line.includes(one)));
    assert.deepEqual(missing, [], output);
  }
  await type("outrigger api stop", columns, folder, env);
  assert.deepEqual(processesOf(folder), []);
}

/** A folder with the examples and the command line, for a home and a port of their own. */
async function openDesk(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "o-"));
  const port = String(await findPort());
  const bin = join(folder, "bin");
  mkdirSync(bin);
  const program = `#!/bin/sh\nexec '${process.execPath}' '${mainOf("outrigger")}' "$@"\n`;
  writeFileSync(join(bin, "outrigger"), program, { mode: 0o755 });
  cpSync(join(root, "examples"), join(folder, "examples"), { recursive: true });
  for (const task of ["training", "hooks"])
    change(join(folder, `examples/${task}.yaml`), results, join(folder, "kept"));
  change(join(folder, "examples/training/train.py"), "SECONDS = 0.1", "SECONDS = 0.01");
  const env = {
    ...{ HOME: folder, OUTRIGGER_HOME: join(folder, "h"), OUTRIGGER_PORT: port, USER: "ana" },
    ...{ OUTRIGGER_ENDPOINT: `http://127.0.0.1:${port}`, TERM: "xterm", SHELL: "/bin/bash" },
    PATH: `${bin}:${process.env["PATH"]}`,
  };
  t.after(async () => {
    await type("outrigger down -y -a; outrigger api stop", 80, folder, env);
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  });
  return { folder, env };
}

function change(file: string, from: string | RegExp, to: string): void {
  const before = readFileSync(file, "utf8");
  const after = before.replaceAll(from, to);
  assert.notEqual(after, before, `no ${from} in ${file}`);
  writeFileSync(file, after);
}

interface Step {
  readonly commands: string;
  /** Lines that the commands print, or their beginnings. */
  readonly shown: string;
}

/** The commands of a page, each with the output that the page shows next. */
const stepsOf = (page: string): Step[] =>
  [...page.matchAll(/^```sh\n(.*?)^```\n(?:\n```text\n(.*?)^```)?/gms)].map(
    ([, commands = "", shown = ""]) => ({ commands, shown }),
  );

/** Runs commands at a terminal, as a user would; one that fails ends them. */
async function type(
  commands: string,
  columns: number,
  cwd: string,
  env: Readonly<Record<string, string>>,
) {
  const line = `stty rows 40 columns ${columns}; set -e\n${commands}`;
  const child = spawn("script", ["-qefc", line, "/dev/null"], {
    ...{ cwd, env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [output] = await Promise.all([text(child.stdout), once(child, "close")]);
  return { code: child.exitCode, output: stripVTControlCharacters(output) };
}

/** Text with one blank between words, and with # for numbers other than 0. */
const linesOf = (output: string): string[] =>
  output
    .replaceAll(/\d+\.\d+|[1-9]\d*/g, "#")
    .split(/[\r\n]+/)
    .map((line) => line.replaceAll(/\s+/g, " ").trim())
    .filter((line) => line !== "");
