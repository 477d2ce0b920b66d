import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fitUnit } from "../../client/service-unit.ts";
import { programArgs } from "../../common/programs.ts";
import { commandLine } from "./command-line.ts";

const nowhere = "http://127.0.0.1:1";
const bySystemd = existsSync("/run/systemd/system");

const unit = `# Why.
[Unit]
After=network-online.target

# Why.
[Service]
User=root
ExecStart=/opt/node main.ts
KillMode=process

[Install]
WantedBy=multi-user.target
`;

test("a unit gets the command, the user and the settings of its installation", () => {
  const command = ["/opt/my node", "50%", "$HOME", 'say "hi"'];

  const fitted = fitUnit(unit, { command, user: "ubuntu", env: { OUTRIGGER_BUILD: "a b" } });

  assert.equal(
    fitted,
    `[Unit]
After=network-online.target

[Service]
User=ubuntu
ExecStart="/opt/my node" 50%% "$$HOME" "say \\"hi\\""
Environment="OUTRIGGER_BUILD=a b"
KillMode=process

[Install]
WantedBy=multi-user.target`,
  );
});

test("a unit of a user's own systemd names no user and no unit of the machine", () => {
  const fitted = fitUnit(unit, { command: ["/opt/node"], user: null, env: {} });

  assert.equal(
    fitted,
    `[Unit]

[Service]
ExecStart=/opt/node
KillMode=process

[Install]
WantedBy=default.target`,
  );
});

test("a dry run of the installation shows the unit, and changes nothing", async (t) => {
  const outrigger = await commandLine(t, nowhere);
  const config = join(outrigger.folder, "config");
  const env = { XDG_CONFIG_HOME: config };

  const { code, stdout, stderr } = await outrigger(["agent", "install", "--user", "--dry-run"], {
    env,
  });

  assert.equal(code, 0);
  const command = [process.execPath, ...programArgs("agent")].join(" ");
  assert.ok(stdout.includes(`\nExecStart=${command}\n`), stdout);
  assert.match(stdout, /^Environment=OUTRIGGER_BUILD=[0-9a-f]{16}$/m);
  const file = join(config, "systemd/user/outrigger-agent.service");
  assert.ok(
    stderr.startsWith(`Would write ${file}, then: systemctl --user daemon-reload;`),
    stderr,
  );
  assert.equal(existsSync(config), false);
});

test("what is not installed is not taken out, and that is no error", async (t) => {
  const outrigger = await commandLine(t, nowhere);

  const { code, stderr } = await outrigger(["agent", "uninstall", "--user"], {
    env: { XDG_CONFIG_HOME: outrigger.folder },
  });

  assert.equal(code, 0);
  assert.match(stderr, /^outrigger-agent is not installed: there is no \//);
});

test("without systemd nothing is installed, and it says what to do", {
  skip: bySystemd,
}, async (t) => {
  const outrigger = await commandLine(t, nowhere);

  const { code, stderr } = await outrigger(["agent", "install", "--user"], {
    env: { XDG_CONFIG_HOME: outrigger.folder },
  });

  assert.equal(code, 1);
  assert.match(stderr, /this machine does not run systemd; .*--dry-run/);
  assert.equal(existsSync(join(outrigger.folder, "systemd")), false);
});
