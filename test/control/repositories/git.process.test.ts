import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { runGit } from "../../../control/repositories/git.ts";

for (const stream of [1, 2])
  test(`a server that has git print without end to ${stream} is refused, and git is ended`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "git-"));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(join(folder, "git"), `#!/bin/sh\nexec yes a-ref >&${stream}\n`, { mode: 0o755 });
    const env = { PATH: `${folder}:${process.env["PATH"]}` };
    const repository = { url: "https://git.example/team/app.git" };

    const running = runGit(repository, { folder, env }, ["ls-remote"], AbortSignal.timeout(30_000));

    await assert.rejects(running, { type: "TooLargeError", message: /^https:\/\/git.example/ });
  });
