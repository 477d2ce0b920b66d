import assert from "node:assert/strict";
import { cpSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { whyNoFuse } from "../helpers/fuse.ts";
import { startHub } from "../helpers/hub-server.ts";
import { startControl } from "../helpers/programs.ts";
import { startS3, whyNoS3 } from "../helpers/s3-store.ts";

const folder = join(import.meta.dirname, "../../examples");
/** What this machine cannot run. */
const unrunnable: Readonly<Record<string, string | false>> = {
  "mounts.yaml": whyNoS3 || whyNoFuse,
  "service.yaml": "it installs a model server",
};
const { EXAMPLES: asked } = process.env;
const names = asked?.split(",") ?? readdirSync(folder).filter((name) => name.endsWith(".yaml"));

/** The command lines in the comment on top of an example, without `outrigger`. */
const linesOf = (name: string): string[][] =>
  readFileSync(join(folder, name), "utf8")
    .split("\n")
    .filter((line) => line.startsWith("#   outrigger "))
    .map((line) => line.replace(/^# +outrigger /, "").replace(/ {2,}#.*$/, ""))
    .map((line) => line.match(/'[^']*'|\S+/g)?.map((word) => word.replaceAll("'", "")) ?? []);

test("the commands of examples do what their comments say", {
  timeout: 1_200_000,
  concurrency: 3,
}, async (t) => {
  const env = { OUTRIGGER_LOCAL_ACCELERATORS: "H100:8", API_KEY: "k", HF_TOKEN: "k" };
  const control = await startControl(t, { env: { ...env, ...(await storesOf(t)) } });
  cpSync(folder, join(control.home, "examples"), { recursive: true });
  const runs = names.map((name) =>
    t.test(name, { skip: unrunnable[name] ?? false, timeout: 300_000 }, async () => {
      const lines = linesOf(name);
      assert.ok(lines.length > 0, "it names no command");
      for (const words of lines) {
        const { code, stdout, stderr } = await control.cli(...words);
        assert.equal(code, 0, `outrigger ${words.join(" ")}\n${stdout}${stderr}`);
      }
    }),
  );
  await Promise.all(runs);
});

/** What examples read from the internet, on this machine. */
async function storesOf(t: TestContext): Promise<Record<string, string>> {
  const hub = await startHub(t, false);
  hub.commit({ "config.json": "{}", "model.safetensors": "w".repeat(1_000) });
  if (whyNoS3) return { OUTRIGGER_HF_ENDPOINT: hub.url };
  const { endpoint, keys, makeBucket } = await startS3(t);
  for (const name of ["my-checkpoints", "my-data"]) makeBucket(name);
  return {
    OUTRIGGER_HF_ENDPOINT: hub.url,
    OUTRIGGER_S3_ENDPOINT: endpoint,
    AWS_ACCESS_KEY_ID: keys.id,
    AWS_SECRET_ACCESS_KEY: keys.secret,
  };
}
