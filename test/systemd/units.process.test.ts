import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { AgentSettings, readConfig as readAgentConfig } from "../../agent/config.ts";
import { settingName } from "../../common/config.ts";
import { programArgs, type Service, unitFileOf } from "../../common/programs.ts";
import { readConfig as readControlConfig, Settings } from "../../control/config.ts";

const root = join(import.meta.dirname, "../..");
/** Where the units as they come look for us. */
const home = "/opt/outrigger";
const run = promisify(execFile);
const analyze = "/usr/bin/systemd-analyze";
const skip = existsSync(analyze) ? false : "needs the Debian package systemd";

const programs: Record<Service, { settings: readonly string[]; read: (env: Env) => object }> = {
  agent: { settings: Object.keys(AgentSettings.shape), read: readAgentConfig },
  control: { settings: Object.keys(Settings.shape), read: readControlConfig },
};
type Env = Record<string, string>;

const textOf = (program: Service): string => readFileSync(unitFileOf(program), "utf8");

/** The values of a key, in their order. */
const valuesOf = (program: Service, key: string): string[] =>
  [...textOf(program).matchAll(new RegExp(`^${key}=(.*)$`, "gm"))].map(([, value = ""]) => value);

/** What the unit sets, quotes and specifiers resolved. */
function environmentOf(program: Service): Env {
  const pairs = valuesOf(program, "Environment").map((value) => {
    const [name = "", ...rest] = value.replace(/^"|"$/g, "").split("=");
    return [name, rest.join("=").replace(/%[SC]/, "/var/lib")];
  });
  return Object.fromEntries(pairs);
}

/** The last value of a key that is a span of time, in milliseconds. */
function timeOf(program: Service, key: string): number {
  const units = { ms: 1, s: 1_000, min: 60_000 } as const;
  const [, count, unit] = /^(\d+)(ms|s|min)$/.exec(valuesOf(program, key).at(-1) ?? "") ?? [];
  return Number(count) * units[unit as keyof typeof units];
}

for (const program of ["agent", "control"] as const) {
  const { settings, read } = programs[program];

  test(`the unit of ${program} sets only what ${program} knows, and to what it may be`, () => {
    const env = environmentOf(program);
    const ours = Object.keys(env).filter((name) => name !== "NODE_COMPILE_CACHE");

    assert.ok(ours.length > 0);
    for (const name of ours) assert.ok(settings.map(settingName).includes(name), name);
    assert.doesNotThrow(() => read({ ...env, HOME: "/root" }));
  });

  test(`the unit of ${program} starts it as it is started elsewhere`, () => {
    const [command = "", ...others] = valuesOf(program, "ExecStart");
    const [node = "", ...args] = command.replaceAll(home, root).split(" ");

    assert.deepEqual([args, others], [programArgs(program), []]);
    for (const file of [node, args.at(-1) ?? ""]) assert.ok(existsSync(file), file);
  });

  test(`the unit of ${program} brings it back at once, for ever, and ends nothing else`, () => {
    for (const [key, value] of [
      ["Type", "notify"],
      ["Restart", "always"],
      ["StartLimitIntervalSec", "0"],
      ["KillMode", "process"],
      ["OOMPolicy", "continue"],
    ] as const)
      assert.deepEqual(valuesOf(program, key), [value], key);
    assert.ok(timeOf(program, "RestartSec") <= 200);
    assert.ok(timeOf(program, "WatchdogSec") >= 20_000);
  });

  test(`systemd finds nothing wrong with the unit of ${program}`, { skip }, async (t) => {
    const { stdout, stderr } = await run(analyze, ["verify", installedCopy(t, program)]);

    // Known from systemd 254 on; older ones ignore it.
    const others = (stdout + stderr).split("\n").filter((line) => !/'DelegateSubgroup'/.test(line));
    assert.equal(others.join("\n"), "");
  });
}

test("at a shutdown the agent has its grace, and then some to leave", () => {
  const graceMs = Number(environmentOf("agent")["OUTRIGGER_GRACE_SECONDS"]) * 1_000;

  assert.ok(graceMs >= 30_000);
  assert.equal(timeOf("agent", "TimeoutStopSec"), graceMs + 10_000);
});

test("control is walled in", { skip }, async (t) => {
  const unit = installedCopy(t, "control");
  const words = ["security", "--offline=true", "--threshold=15", "--no-pager", unit];

  await assert.doesNotReject(run(analyze, words));
});

/** The unit as it would be if we lay where it looks for us. */
function installedCopy(t: TestContext, program: Service): string {
  const folder = mkdtempSync(join(tmpdir(), "units-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, `outrigger-${program}.service`);
  writeFileSync(file, textOf(program).replaceAll(home, root));
  return file;
}
