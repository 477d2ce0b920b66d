import { text } from "node:stream/consumers";
import { fail } from "../../common/errors.ts";
import { secretOperations as rows, type SecretRecord } from "../../contract/operations/secrets.ts";
import { Declined } from "../declined.ts";
import { readBytes } from "../named-file.ts";
import { secretForm } from "../output/secrets.ts";
import { ago, type Column } from "../rendering.ts";
import type { World } from "../world.ts";
import { tellDone } from "./actions.ts";
import { listing } from "./answers.ts";

type Words = readonly string[];

interface ScopeOptions {
  /** It is the workspace's. */
  readonly shared?: boolean;
}

interface SetOptions extends ScopeOptions {
  readonly file?: string;
}

/** `outrigger secrets list`. */
export const list = listing({
  read: (client) => client.call(rows.list, {}),
  form: secretForm,
  columns: (now): Column<SecretRecord>[] => [
    { title: "NAME", text: ({ name }) => name, least: 12 },
    {
      title: "FOR",
      text: ({ workspace }) => (workspace === null ? "you" : `workspace ${workspace}`),
    },
    { title: "SET", text: ({ updated_at: at }) => ago(at, now) },
    { title: "BY", text: ({ updated_by: user }) => user, spare: true },
  ],
  empty: "No secrets. Store one: outrigger secrets set NAME",
});

/** `outrigger secrets set`. */
export async function set(
  world: World,
  [name = ""]: Words,
  { file, shared }: SetOptions,
): Promise<undefined> {
  const value = await readValue(world, file);
  const client = await world.connect();
  await client.call(rows.set, { name, value, scope: scopeOf(shared) });
  world.terminal.note(`Stored secret ${name}.`);
  return tellDone(world, "secrets set", name);
}

/** `outrigger secrets rm`. */
export async function remove(
  world: World,
  names: Words,
  { shared }: ScopeOptions,
): Promise<undefined> {
  const client = await world.connect();
  for (const name of names) {
    await client.call(rows.delete, { name, scope: scopeOf(shared) });
    world.terminal.note(`Deleted secret ${name}.`);
  }
  return tellDone(world, "secrets rm", ...names);
}

const scopeOf = (shared = false) => (shared ? "workspace" : "user");

/** The value, of a file, of stdin, or as it is typed without being shown. */
async function readValue(world: World, file: string | undefined): Promise<string> {
  const { terminal, streams, signal } = world;
  if (file === "-") return (await text(streams.stdin)).replace(/\r?\n$/, "");
  if (file !== undefined) return (await readBytes(world, file)).toString();
  if (!terminal.canAsk)
    fail("UsageError", "there is no terminal to ask on; pass -f FILE, or -f - to pipe the value");
  const said = await terminal.askHidden(["Value: "], signal);
  if (typeof said === "string") throw new Declined(said);
  return said[0] ?? "";
}
