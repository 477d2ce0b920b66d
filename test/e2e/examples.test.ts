import assert from "node:assert/strict";
import { cpSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { startControl } from "../helpers/programs.ts";

const folder = join(import.meta.dirname, "../../examples");
/** What this machine cannot run. */
const unrunnable: Readonly<Record<string, string>> = {
  "hugging-face.yaml": "it reads from Hugging Face",
  "mounts.yaml": "it needs buckets",
  "service.yaml": "it installs a model server",
};
/** A few of them; at night, all. */
const { EXAMPLES: asked = "any-of.yaml,secrets.yaml,download.yaml" } = process.env;
const names =
  asked === "all" ? readdirSync(folder).filter((name) => name.endsWith(".yaml")) : asked.split(",");

/** The command lines in the comment on top of an example, without `outrigger`. */
const linesOf = (name: string): string[][] =>
  readFileSync(join(folder, name), "utf8")
    .split("\n")
    .filter((line) => line.startsWith("#   outrigger "))
    .map((line) => line.replace(/^# +outrigger /, "").replace(/ {2,}#.*$/, ""))
    .map((line) => line.match(/'[^']*'|\S+/g)?.map((word) => word.replaceAll("'", "")) ?? []);

test("the commands of examples do what their comments say", { timeout: 3_600_000 }, async (t) => {
  const env = { OUTRIGGER_LOCAL_ACCELERATORS: "H100:8", API_KEY: "k", HF_TOKEN: "k" };
  const control = await startControl(t, { env });
  cpSync(folder, join(control.home, "examples"), { recursive: true });
  for (const name of names)
    await t.test(name, { skip: unrunnable[name] ?? false }, async () => {
      const lines = linesOf(name);
      assert.ok(lines.length > 0, "it names no command");
      for (const words of lines) {
        const { code, stdout, stderr } = await control.cli(...words);
        assert.equal(code, 0, `outrigger ${words.join(" ")}\n${stdout}${stderr}`);
      }
    });
});
