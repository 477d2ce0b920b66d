import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { envOf } from "../../common/product.ts";
import type { TestControl } from "../helpers/programs.ts";
import { hasPython, newestVersion } from "../helpers/python.ts";
import { startClient } from "./client.ts";
import { clients, installClient } from "./existing-client.ts";
import { faultOf, readStages } from "./lines.ts";

/** Runs what a file of `lines/` says by the newest client, a test each; skips where none can be installed. */
export async function playLines(
  t: TestContext,
  file: string,
  start: () => Promise<TestControl>,
): Promise<void> {
  const wanted = clients.at(-1)?.wanted ?? "";
  const version = (await hasPython(t.signal)) && (await newestVersion(wanted, t.signal));
  if (!version) return t.skip("the Python package index does not answer");
  const bin = await installClient(version, t.signal);
  const { home, endpoint } = await start();
  const env = {
    ...{ PATH: [bin, process.env["PATH"]].join(":"), HOME: home },
    ...{ ...envOf("API_SERVER_ENDPOINT", endpoint), ...envOf("DISABLE_USAGE_COLLECTION", "1") },
  };
  await using client = startClient(bin, env, home);
  const lines = readFileSync(join(import.meta.dirname, "lines", file), "utf8");
  for (const line of readStages(lines, { version, values: {} }).flat())
    await t.test(line.args.join(" "), async () => {
      const ended = await client.run(line.args, 120_000);
      assert.equal(faultOf(line, ended, home), undefined, ended.text);
    });
}
