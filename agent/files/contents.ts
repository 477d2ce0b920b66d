import { createHash, hash, randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, open, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { fail } from "../../common/errors.ts";
import { smallFileBytes } from "../../common/files.ts";
import { Content } from "../../contract/files-api.ts";
import { type Frames, openFrames, parseLine } from "../../contract/frames.ts";
import type { Agent } from "../context.ts";

/** What nobody came to use for so long was for an offer that was given up. */
const keptMs = 24 * 3_600_000;

/** Where contents wait until the manifest that needs them is offered again. */
export const folderOf = ({ config }: Pick<Agent, "config">): string =>
  join(config.agentFolder, "files", "contents");

/** Where a content lies while it waits. */
export const contentOf = (agent: Pick<Agent, "config">, sha256: string): string =>
  join(folderOf(agent), sha256);

/** Whether a content came and was not used yet. */
export const hasContent = (agent: Pick<Agent, "config">, sha256: string): boolean =>
  existsSync(contentOf(agent, sha256));

/** Keeps each content of a body that came whole and is what it says; throws `ValueError` at one that is not. */
export async function receiveContents(
  agent: Pick<Agent, "config">,
  body: AsyncIterable<Uint8Array>,
  heard: () => void,
): Promise<{ received: number }> {
  await mkdir(folderOf(agent), { recursive: true, mode: 0o700 });
  const source = openFrames(body);
  let received = 0;
  for (let header = await source.line(); header !== undefined; header = await source.line()) {
    heard();
    const content =
      parseLine(Content, header) ??
      fail("ValueError", "a content must begin with a line of its sha256 and size");
    await receive(agent, content, source);
    received += 1;
  }
  return { received };
}

/** Removes what came and was not used. */
export async function dropOldContents(agent: Pick<Agent, "config" | "now">): Promise<void> {
  const folder = folderOf(agent);
  for (const name of await readdir(folder).catch(() => [])) {
    const found = await stat(join(folder, name)).catch(() => undefined);
    if (found !== undefined && agent.now() - found.mtimeMs > keptMs)
      await rm(join(folder, name), { force: true });
  }
}

async function receive(
  agent: Pick<Agent, "config">,
  { sha256, size }: Content,
  source: Frames,
): Promise<void> {
  const draft = `${contentOf(agent, sha256)}.${randomUUID()}`;
  try {
    const came = await (size > smallFileBytes ? write : writeWhole)(draft, source.bytes(size));
    if (came !== sha256)
      fail("ValueError", `the content ${sha256} came with other bytes; send it again`);
    await rename(draft, contentOf(agent, sha256));
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** Writes a file; the digest of its bytes. */
async function write(path: string, bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const digest = createHash("sha256");
  await using file = await open(path, "wx", 0o600);
  for await (const chunk of bytes) {
    digest.update(chunk);
    await file.writeFile(chunk);
  }
  return digest.digest("hex");
}

/** The same for a small file, for which a stream would take longer. */
async function writeWhole(path: string, bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const whole = await buffer(bytes);
  await writeFile(path, whole, { flag: "wx", mode: 0o600 });
  return hash("sha256", whole);
}
