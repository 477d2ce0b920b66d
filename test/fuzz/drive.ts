import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { operations as rows } from "../../contract/api.ts";
import { buildServer } from "../../control/http/server.ts";
import { operations } from "../../control/operations.ts";
import { openFakeBalancers } from "../helpers/fake-balancers.ts";
import { testWorld } from "../helpers/world.ts";
import { runCommand } from "../interop/command.ts";

/** Each operation by itself, then operations one after the other by their links. */
const games = [
  { phases: "examples,coverage,fuzzing", seconds: 110 },
  { phases: "stateful", seconds: 70 },
] as const;
/** For the start of the fuzzer, and for its last request, which may take the 20 s of `schemathesis.toml`. */
const marginMs = 45_000;
const errorLevel = 50;
const [fuzzer = "", seed = "1", ...more] = process.argv.slice(2);

process.exitCode = await drive();

/** Has the fuzzer play with a control plane whose machines are only in memory; the exit code. */
async function drive(): Promise<number> {
  await using stack = new AsyncDisposableStack();
  const balancers = openFakeBalancers();
  const world = await testWorld(
    { after: (clean) => stack.defer(clean) },
    { mayFail: true, balancers },
  );
  const server = buildServer(world.ctx, rows, operations);
  stack.defer(() => server.close());
  const reached = new Set<string>();
  server.addHook("onResponse", async ({ route }) => {
    if (route !== undefined) reached.add(route.row.route);
  });
  await server.listen({ host: "127.0.0.1", port: 0 });
  const { port } = server.server.address() as AddressInfo;
  let isWell = true;
  for (const game of games) {
    reached.clear();
    const { exitCode, text } = await fuzz(world.home, `http://127.0.0.1:${port}`, game);
    console.log(text);
    console.log(`fuzz: ${game.phases} reached ${reached.size} of ${rows.length} operations`);
    isWell &&= exitCode === 0;
  }
  const bugs = world.logged.filter((line) => JSON.parse(line).level >= errorLevel);
  for (const bug of bugs) console.log(`fuzz: control logged a bug: ${bug}`);
  const health = await world.http("GET", "/api/health");
  if (health.status !== 200) console.log("fuzz: the control plane stopped answering");
  return isWell && bugs.length === 0 && health.status === 200 ? 0 : 1;
}

function fuzz(cwd: string, url: string, { phases, seconds }: (typeof games)[number]) {
  const config = ["--config-file", join(import.meta.dirname, "schemathesis.toml")];
  const how = ["--url", url, "--no-color", "--seed", seed, "--phases", phases];
  const words = ["run", `${url}/openapi.json`, ...how, "--max-time", String(seconds), ...more];
  return runCommand([fuzzer, ...config, ...words], {
    cwd,
    env: { ...process.env, SCHEMATHESIS_HOOKS: "hooks", PYTHONPATH: import.meta.dirname },
    timeoutMs: seconds * 1_000 + marginMs,
    signal: AbortSignal.any([]),
  });
}
