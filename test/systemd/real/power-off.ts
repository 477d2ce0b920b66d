import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { aSubmission, until } from "../../helpers/agent.ts";
import { install } from "../installed.ts";
import { whyNoMachine } from "../machine.ts";

const options = { skip: whyNoMachine(), timeout: 300_000 };

/** As where something holds the shutdown up: the order is taken at once, and carried out later. */
const slowSystemctl = `#!/bin/sh
case "$*" in *poweroff) ;; *) exec /bin/systemctl "$@" ;; esac
(until [ -e ~/go ]; do sleep 0.05; done; /bin/systemctl poweroff) > /dev/null 2>&1 &
touch ~/asked`;

test(
  "a node that turns itself off begins nothing while its machine is not off yet",
  options,
  async (t) => {
    const { machine, agent, pid } = await install(
      t,
      "Environment=PATH=/root/slow:/usr/bin:/bin OUTRIGGER_SELF_STOP_AFTER_SECONDS=0.2",
    );
    const home = join(machine.disk, "root");
    mkdirSync(join(home, "slow"));
    writeFileSync(join(home, "slow/systemctl"), slowSystemctl);
    chmodSync(join(home, "slow/systemctl"), 0o755);
    const first = await pid();
    const all = { demand: { cpus: 4, accelerators: 0 } };
    await agent.call("submit", aSubmission("touch ~/up; sleep 1000", all));
    await until(() => existsSync(join(home, "up")) || undefined);
    await agent.call("submit", aSubmission("touch ~/begun", all));

    await agent.call("setAutostop", { idleMs: 100, down: false, waitFor: "none" });
    await until(() => existsSync(join(home, "asked")) || undefined);
    const isOver = async () => {
      const { code } = await machine.run("pgrep", "-f", "^sleep infinity$");
      return code === 0 || (await pid().catch(() => first)) !== first || undefined;
    };
    await until(isOver);
    assert.equal(await pid(), first);
    writeFileSync(join(home, "go"), "");
    await machine.untilOff();

    const journal = new DatabaseSync(join(home, ".outrigger/agent/journal.db"), { readOnly: true });
    t.after(() => journal.close());
    const rows = journal.prepare("SELECT status FROM jobs ORDER BY id").all();
    assert.deepEqual(
      rows.map(({ status }) => status),
      ["CANCELLED", "PENDING"],
    );
    assert.equal(existsSync(join(home, "begun")), false);
  },
);
