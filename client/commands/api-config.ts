import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { AppError, fail } from "../../common/errors.ts";
import { workspaceOperations as rows } from "../../contract/operations/workspaces.ts";
import { hintOf } from "../../contract/spelling.ts";
import type { Command, OptionsOf } from "../catalog.ts";
import { readBytes } from "../named-file.ts";
import { configurationForm, configurationVersionForm } from "../output/workspaces.ts";
import type { World } from "../world.ts";
import { tellDone } from "./actions.ts";
import { answerOne, answerRows } from "./answers.ts";

type ConfigOptions = OptionsOf<"api config">;

/** `outrigger api config`: the configuration of control. */
export const config: Command<"api config"> = async (world, [action = "show"], options) => {
  const names = Object.keys(actions);
  if (!Object.hasOwn(actions, action))
    fail(
      "UsageError",
      `there is no \`api config ${action}\`; ${hintOf(action, names, names.join(", "))}`,
    );
  return actions[action as keyof typeof actions](world, options);
};

const actions = { show, set, edit, history };

type Document = Record<string, unknown>;

const read = async (world: World): Promise<Document> =>
  (await world.connect()).callAndGet(rows.getConfig, {});

async function show(world: World, options: ConfigOptions): Promise<undefined> {
  const document = await read(world);
  if (world.json) return answerOne(world, options, configurationForm, document as never);
  world.terminal.answer(stringify(document).trimEnd());
}

async function set(world: World, { file }: ConfigOptions): Promise<undefined> {
  if (file === undefined) fail("UsageError", "name the file: outrigger api config set -f FILE");
  return write(world, toDocument(readBytes(world, file).toString(), file));
}

/** The file stays where control refuses what is in it. */
async function edit(world: World): Promise<undefined> {
  if (!world.terminal.canAsk)
    fail("UsageError", "there is no terminal to edit at; use outrigger api config set -f FILE");
  const before = stringify(await read(world));
  const folder = mkdtempSync(join(tmpdir(), "outrigger-config-"));
  const file = join(folder, "config.yaml");
  writeFileSync(file, before, { mode: 0o600 });
  try {
    runEditor(world, file);
    const after = readBytes(world, file).toString();
    if (after === before) world.terminal.note("Nothing was changed.");
    else await write(world, toDocument(after, file));
  } catch (error) {
    world.terminal.note(`What you wrote is in ${file}.`);
    throw error;
  }
  rmSync(folder, { recursive: true });
}

function runEditor({ env }: World, file: string): void {
  const editor = env["VISUAL"] || env["EDITOR"] || "vi";
  const { status, error } = spawnSync("sh", ["-c", `${editor} "$1"`, "sh", file], {
    stdio: "inherit",
  });
  if (error !== undefined || status !== 0)
    fail("UsageError", `${editor} failed; nothing was changed. EDITOR names another editor`);
}

function toDocument(text: string, file: string): Document {
  try {
    return { ...(parse(text) as Document) };
  } catch (error) {
    throw new AppError("ValueError", `${file}: ${(error as Error).message}`);
  }
}

async function write(world: World, document: Document): Promise<undefined> {
  const client = await world.connect();
  const { version } = await client.callAndGet(rows.updateConfig, { config: document });
  world.terminal.note(`The configuration is at version ${version} now.`);
  tellDone(world, "api config set", null);
}

async function history(world: World, options: ConfigOptions): Promise<undefined> {
  const versions = await (await world.connect()).call(rows.configHistory, {});
  answerRows(world, options, {
    form: configurationVersionForm,
    rows: versions.map(({ version, user_name: user, created_at }) => ({
      version,
      user,
      created_at: new Date(created_at * 1_000).toISOString(),
    })),
    columns: [
      { title: "VERSION", text: ({ version }) => String(version), right: true },
      { title: "USER", text: ({ user }) => user },
      { title: "WRITTEN", text: ({ created_at: at }) => at.replace(/\.\d+Z$/, "Z") },
    ],
    empty: "Nobody has changed the configuration.",
  });
}
