import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { pino } from "pino";
import { AppError } from "../../../common/errors.ts";
import { readConfig } from "../../../control/config.ts";
import { localProvider } from "../../../control/providers/local.ts";
import { sshProvider } from "../../../control/providers/ssh.ts";
import { openHostBook } from "../../../control/ssh-pools/allocations.ts";
import { lookAt } from "../../../control/ssh-pools/inspect-host.ts";
import { setHost } from "../../../control/ssh-pools/store.ts";
import { updatePools } from "../../../control/ssh-pools/update.ts";
import { openFakeProvider } from "../../helpers/fake-provider.ts";
import { startSshHost, whyNoHosts } from "../../helpers/ssh-hosts.ts";
import { testWorld } from "../../helpers/world.ts";
import { writable } from "../../helpers/writable.ts";
import { type Bed, testContract } from "./contract.ts";

function aFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "contract-"));
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));
  return folder;
}

testContract("fake", async (t): Promise<Bed> => {
  const provider = openFakeProvider(aFolder(t));
  t.after(() => provider.close());
  return { provider, break: () => provider.fails("create", new AppError("CloudError", "broken")) };
});

testContract("local", async (t): Promise<Bed> => {
  const home = aFolder(t);
  const provider = localProvider(readConfig({ OUTRIGGER_HOME: home }), pino({ level: "silent" }));
  return { provider, break: () => writeFileSync(join(home, "nodes"), "not a folder") };
});

/** Packing Node.js takes seconds; the same pack serves all tests. */
const packed = join(import.meta.dirname, "../../../node_modules/.cache/bundles");

testContract(
  "ssh",
  async (t): Promise<Bed> => {
    const hosts = await Promise.all([1, 2].map(() => startSshHost(t, { node: true })));
    const { ctx, home } = await testWorld(t);
    mkdirSync(packed, { recursive: true });
    symlinkSync(packed, join(home, "control/bundles"));
    const entries = hosts.map(({ address, key }) => {
      const file = join(home, `key-${address}`);
      writeFileSync(file, key, { mode: 0o600 });
      return { ip: address, identity_file: file };
    });
    await updatePools(ctx, { lab: { user: "ana", hosts: entries } });
    for (const { address: name } of hosts) {
      await lookAt(ctx, { pool: "lab", name }, t.signal);
      await setHost(writable(ctx), { pool: "lab", name }, { deployedAt: 1 });
    }
    return {
      provider: sshProvider(openHostBook(ctx, ctx.ssh), ctx.ssh, ctx.log),
      async break() {
        await Promise.all(hosts.map((host) => host.ssh("down")));
      },
    };
  },
  { skip: whyNoHosts() },
);
