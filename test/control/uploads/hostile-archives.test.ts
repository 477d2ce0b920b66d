import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { after, test } from "node:test";
import { AppError } from "../../../common/errors.ts";
import type { Entry } from "../../../contract/files-api.ts";
import { openUploads } from "../../../control/uploads/uploads.ts";
import { readArchives, refusedArchives } from "../../fixtures/hostile-archives.ts";

/** Of processor time. */
const mostMs = 1_000;

const root = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "hostile-"));
after(() => rmSync(root, { recursive: true }));
const uploads = openUploads(root, () => new Date());

/** Uploads an archive as a user of its own; what it holds. Fails when that takes long. */
async function send(user: string, bytes: Buffer): Promise<readonly Entry[]> {
  const before = process.cpuUsage();
  try {
    const chunk = { uploadId: "v1", index: 0, total: 1 };
    await uploads.take(user, null, chunk, Readable.from([bytes]));
    return (await (await uploads.open(user, null))?.entries()) ?? [];
  } finally {
    const { user: own, system } = process.cpuUsage(before);
    assert.ok(own + system < mostMs * 1_000, `took ${(own + system) / 1_000} ms`);
  }
}

/** The files that a user has. */
const filesOf = (user: string): string[] =>
  readdirSync(join(root, user), { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map(({ name }) => name);

const refused = Object.entries(refusedArchives);
for (const [at, [what, bytes]] of refused.entries())
  test(`refused: ${what}`, async () => {
    await assert.rejects(send(`refused-${at}`, bytes), (error) => {
      assert.ok(error instanceof AppError, String(error));
      assert.ok(["ValueError", "TooLargeError"].includes(error.type), error.type);
      assert.match(error.message, /archive|zip/);
      return true;
    });
  });

test("nothing is left of what is refused", () => {
  const left = refused.filter((_, at) => filesOf(`refused-${at}`).length > 0);

  assert.deepEqual(
    left.map(([what]) => what),
    [],
  );
});

for (const [at, [what, { bytes, holds }]] of Object.entries(readArchives).entries())
  test(`read: ${what}`, async () => {
    const entries = await send(`read-${at}`, bytes);

    assert.deepEqual(entries.map(shown), holds);
    for (const entry of entries) if (entry.kind === "file") assert.ok(entry.mode <= 0o777);
  });

const shown = (entry: Entry): string =>
  entry.kind === "link" ? `link ${entry.path} to ${entry.target}` : `${entry.kind} ${entry.path}`;
