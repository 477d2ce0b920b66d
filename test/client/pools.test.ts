import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { commandLine, wordsOf } from "./command-line.ts";
import { fakeControl, type Routes } from "./fake-control.ts";
import { aPool } from "./services.ts";

const usual: Routes = {
  "POST /jobs/pool_apply": {},
  "POST /jobs/pool_status": { result: [aPool()] },
  "POST /jobs/pool_down": {},
};

/** A command line, the route that it must call, and fields that the call must carry. */
const calls: readonly [string, string, object][] = [
  ["jobs pool apply pool.yaml", "/jobs/pool_apply", { pool_name: "own", mode: "rolling" }],
  ["jobs pool apply -p warm pool.yaml", "/jobs/pool_apply", { pool_name: "warm" }],
  ["jobs pool apply -p warm --workers 0", "/jobs/pool_apply", { workers: 0 }],
  ["jobs pool status 'wa*'", "/jobs/pool_status", { pool_names: ["wa*"] }],
  ["jobs pool down warm", "/jobs/pool_down", { pool_names: ["warm"], purge: false }],
  ["jobs pool down -a -y -p", "/jobs/pool_down", { pool_names: ["warm"], purge: true }],
];

for (const [line, route, fields] of calls)
  test(`\`outrigger ${line}\` calls ${route}`, async (t) => {
    const control = await fakeControl(t, usual);
    const outrigger = await commandLine(t, control.endpoint);
    writeFileSync(join(outrigger.folder, "pool.yaml"), "name: own\npool: {workers: 2}\n");

    const { code, stderr } = await outrigger(wordsOf(line));

    assert.equal(code, 0, stderr);
    assert.partialDeepStrictEqual(control.to(`POST ${route}`)[0]?.body, fields);
  });

for (const [line, code, message] of [
  ["jobs pool apply", 2, /give either a FILE with a pool section, or --workers/],
  ["jobs pool apply --workers 2", 2, /name the pool: --pool NAME/],
  ["jobs pool status other", 3, /there is no pool other/],
  ["jobs pool down", 2, /name the pools to take down, or say --all/],
  ["jobs pool", 2, /Usage: outrigger jobs pool <command>/],
] as const)
  test(`\`outrigger ${line}\` is refused`, async (t) => {
    const outrigger = await commandLine(t, (await fakeControl(t, usual)).endpoint);

    const { code: exit, stderr } = await outrigger(wordsOf(line));

    assert.equal(exit, code, stderr);
    assert.match(stderr, message);
  });

test("jobs pool status shows workers, and the jobs that they have", async (t) => {
  const outrigger = await commandLine(t, (await fakeControl(t, usual)).endpoint);

  const { stdout } = await outrigger(wordsOf("jobs pool status"));

  assert.match(stdout, /^NAME +VERSION +STATUS +WORKERS +UPTIME\nwarm +1 +READY +2\/2 /);
  assert.match(
    stdout,
    /^POOL +ID +VERSION +STATUS +JOBS +AGE\nwarm +1 +1 +READY +3 .*\nwarm +2 +1 +READY +- /m,
  );
});

test("words are completed at every depth of a command", async (t) => {
  const outrigger = await commandLine(t, (await fakeControl(t, usual)).endpoint);

  const next = async (line: string) =>
    (await outrigger(["complete", "=", ...wordsOf(line)])).stdout.replace(/\t.*$/gm, "");

  assert.match(await next("jobs"), /^launch\n(.+\n)*pool\n$/);
  assert.equal(await next("jobs pool"), "apply\nstatus\nlogs\ndown\n");
});
