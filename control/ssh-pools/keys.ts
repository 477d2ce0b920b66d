import { chmodSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fail } from "../../common/errors.ts";
import { unlessMissing } from "../../common/files.ts";
import { readAll } from "../../common/limited.ts";
import type { RawBody } from "../bind.ts";
import type { Ground } from "../ground.ts";
import { entriesOf, type HostEntry } from "./document.ts";
import { listLeftovers } from "./leftover-store.ts";
import { listPools } from "./store.ts";

const largestBytes = 64 * 1024;
const keyName = /^[A-Za-z0-9_][\w.@+-]{0,127}$/;

/** Where uploaded keys lie, each in a file that only control may read. */
export const keyFolderOf = ({ home }: { home: string }): string =>
  join(home, "control", "ssh-keys");

/** Names of the uploaded keys. */
export function listKeys({ config }: Ground): string[] {
  return unlessMissing(() => readdirSync(keyFolderOf(config)), [])
    .filter((name) => keyName.test(name))
    .sort();
}

/** Removes uploaded keys that `entries` had, and no pool nor anything that was left on a host needs. */
export async function dropUnusedKeys(ctx: Ground, entries: readonly HostEntry[]): Promise<void> {
  const pools = [...(await listPools(ctx.db, ctx.seal)).values()].flatMap(entriesOf);
  const left = (await listLeftovers(ctx.db, ctx.seal)).map(({ entry }) => entry);
  const folder = keyFolderOf(ctx.config);
  const fileOf = ({ identity_file: file = "" }: HostEntry): string => resolve(folder, file);
  const used = new Set([...pools, ...left].map(fileOf));
  for (const name of listKeys(ctx)) {
    const file = join(folder, name);
    if (entries.some((entry) => fileOf(entry) === file) && !used.has(file)) rmSync(file);
  }
}

/** Keeps the key of a form, in place of one that had its name; answers where. */
export async function uploadKey({ config }: Ground, body: RawBody): Promise<string> {
  const { name, text } = await readForm(body);
  const folder = keyFolderOf(config);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = join(folder, name);
  const draft = join(folder, `.${name}.new`);
  rmSync(draft, { force: true });
  writeFileSync(draft, text, { mode: 0o600, flush: true });
  chmodSync(draft, 0o600);
  renameSync(draft, file);
  return file;
}

async function readForm({ type, stream }: RawBody): Promise<{ name: string; text: string }> {
  const sent = await readAll(stream, largestBytes, () =>
    fail("ValueError", `a key has at most ${largestBytes} bytes`),
  );
  const form = await new Response(new Uint8Array(sent), { headers: { "content-type": type } })
    .formData()
    .catch(() => fail("ValueError", "send a form with key_name and key_file"));
  const [name, file] = [form.get("key_name"), form.get("key_file")];
  if (typeof name !== "string" || file === null)
    fail("ValueError", "the form must have key_name and key_file");
  if (!keyName.test(name))
    fail(
      "ValueError",
      "key_name takes letters, digits and . _ @ + -, and does not begin with a dot",
    );
  const bytes =
    typeof file === "string" ? Buffer.from(file) : Buffer.from(await file.arrayBuffer());
  return { name, text: textOf(bytes) };
}

function textOf(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    fail("ValueError", "key_file is not a text in UTF-8");
  }
}
