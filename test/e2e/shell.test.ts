import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { findProcess } from "../../common/process-tree.ts";
import { hasEnded, until } from "../helpers/agent.ts";
import { startControl } from "../helpers/programs.ts";
import { mainOf } from "../helpers/tested.ts";
import { clusterOf } from "./cluster.ts";

const control = await startControl({ after });
await clusterOf(control, "dev").launch("num_nodes: 2\nrun: 'true'");
const nodeOf = (rank: number) => new RegExp(`^${control.home}/nodes/\\w+-${rank}$`);

/** `outrigger shell` at a terminal of its own. */
function openTerminal(...words: string[]) {
  const line = `tty >&3; echo $$ >&3; exec 3>&-; stty rows 31 columns 97; exec "$NODE" "$MAIN" shell ${words.join(" ")}`;
  const child = spawn("script", ["-qefc", line, "/dev/null"], {
    env: {
      ...{ HOME: control.home, OUTRIGGER_HOME: control.home, PATH: process.env["PATH"] },
      ...{ OUTRIGGER_ENDPOINT: control.endpoint, TERM: "xterm-test" },
      ...{ NODE: process.execPath, MAIN: mainOf("outrigger"), SHELL: "/bin/sh" },
    },
    stdio: ["pipe", "pipe", "inherit", "pipe"],
  });
  after(() => void child.kill("SIGKILL"));
  let seen = "";
  let told = "";
  child.stdio[1]?.on("data", (chunk) => {
    seen += chunk;
  });
  child.stdio[3]?.on("data", (chunk) => {
    told += chunk;
  });
  return {
    pid: () => Number(told.split("\n")[1]),
    type: (text: string) => child.stdio[0]?.write(text),
    see: (wanted: RegExp) =>
      until(() => {
        if (!hasEnded(child)) return wanted.exec(seen) ?? undefined;
        throw new Error(`it ended with ${child.exitCode}: ${seen}`);
      }),
    resize: (rows: number, columns: number) =>
      once(
        spawn("stty", [
          "-F",
          told.split("\n")[0] ?? "",
          "rows",
          `${rows}`,
          "columns",
          `${columns}`,
        ]),
        "exit",
      ),
    async end() {
      if (!hasEnded(child)) await once(child, "exit");
      return child.exitCode;
    },
  };
}

test("a command on a cluster has its own outputs and leaves its exit code", async () => {
  const ran = await control.cli("shell", "dev", "--", "echo out; echo err >&2; exit 7");

  assert.deepEqual(ran, { code: 7, stdout: "out\n", stderr: "err\n" });
});

test("several words are a program and its arguments, on the node that is asked for", async () => {
  const words = ["printf", "%s|", "$HOME", "a  b", "it's"];
  const ran = await control.cli("shell", "dev", "-n", "1", "--", ...words);
  const home = await control.cli("shell", "dev", "-n", "1", "--", "pwd");

  assert.deepEqual(ran, { code: 0, stdout: "$HOME|a  b|it's|", stderr: "" });
  assert.match(home.stdout.trim(), nodeOf(1));
});

test("what ends by a signal leaves the code that shells give it", async () => {
  assert.equal((await control.cli("shell", "dev", "--", "kill -TERM $$")).code, 143);
});

test("a cluster or a node that is not there is refused by a sentence", async () => {
  const cluster = await control.cli("shell", "other");
  const node = await control.cli("shell", "dev", "-n", "2");

  assert.deepEqual([cluster.code, node.code], [3, 2]);
  assert.match(cluster.stderr, /there is no cluster other/);
  assert.match(node.stderr, /cluster dev has 2 nodes; the last is node 1/);
});

test("a shell at a terminal follows its size and leaves its exit code", async () => {
  const shell = openTerminal("dev");

  shell.type("echo at $TERM $(stty size)\r");
  await shell.see(/at xterm-test 31 97/);
  await shell.resize(40, 120);
  shell.type("until [ \"$(stty size)\" = '40 120' ]; do sleep 0.02; done; echo now $(stty size)\r");
  await shell.see(/now 40 120/);
  // It is in the foreground once it writes; a Ctrl-C before that would be the shell's.
  shell.type("sh -c 'echo begun $((1+1)); exec sleep 1000'\r");
  await shell.see(/begun 2/);
  shell.type("\x03");
  shell.type("exit 9\r");

  assert.equal(await shell.end(), 9);
});

test("what a shell runs ends once its client was killed", async () => {
  const shell = openTerminal("dev");
  shell.type("sleep 1004 & echo started $((1+1)) $!\r");
  const [, pid = ""] = await shell.see(/started 2 (\d+)\r/);
  assert.ok(findProcess(Number(pid))?.alive);
  process.kill(shell.pid(), "SIGKILL");

  await until(() => !findProcess(Number(pid))?.alive || undefined);
});

test("control ends although a shell is open, and the shell says so", async () => {
  const shell = openTerminal("dev");
  shell.type("echo open $((1+1))\r");
  await shell.see(/open 2/);

  assert.equal(await control.end("SIGTERM"), 0);

  assert.equal(await shell.end(), 7);
  await control.start();
});

/** OpenSSH's `ssh`, with the configuration that our command line has written. */
async function ssh(...words: string[]) {
  const file = join(control.home, "ssh/clusters/dev");
  return run("ssh", ["-F", file, "-o", "LogLevel=ERROR", ...words]);
}

async function run(program: string, words: readonly string[], input = "") {
  const env = { HOME: control.home, PATH: process.env["PATH"] };
  const child = spawn(program, words, { env, stdio: "pipe" });
  child.stdin.end(input);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  if (!hasEnded(child)) await once(child, "exit");
  return { code: child.exitCode, stdout, stderr };
}

test("ssh CLUSTER leads to its nodes once a command has shown that it is up", async (t) => {
  assert.equal((await control.cli("status", "dev")).code, 0);
  const config = readFileSync(join(control.home, ".ssh/config"), "utf8");
  assert.match(config, new RegExp(`^Include "${control.home}/ssh/clusters/\\*"$`, "m"));

  await t.test("with exit codes, outputs and inputs", async () => {
    const ran = await ssh("dev", "cat; echo err >&2; exit 5");
    const other = await ssh("dev-worker1", "pwd");

    assert.deepEqual(ran, { code: 5, stdout: "", stderr: "err\n" });
    assert.match(other.stdout.trim(), nodeOf(1));
  });

  await t.test("with ports of the node", async () => {
    const server = createServer((socket) => socket.end("served")).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;

    const served = await ssh("-W", `127.0.0.1:${port}`, "dev");
    const elsewhere = await ssh("-W", "192.0.2.1:80", "dev");
    server.close();

    assert.equal(served.stdout, "served");
    assert.notEqual(elsewhere.code, 0, "of no other machine");
  });

  /** One connection within another, as the existing client has it. */
  const hop = (key: string, command: string) => {
    const file = join(control.home, "ssh/clusters/dev");
    const through = `ssh -F '${file}' -o LogLevel=ERROR -W '[%h]:%p' dev`;
    const trusting = ["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"];
    const words = ["-F", "none", "-o", "LogLevel=ERROR", "-o", "BatchMode=yes", ...trusting];
    const to = ["-i", key, "-o", `ProxyCommand=${through}`, "-p", "10023", "anyone@127.0.0.1"];
    return run("ssh", [...words, ...to, command]);
  };

  await t.test("with a node as the way to another", async () => {
    const key = join(control.home, "ssh/keys/dev");
    const { stdout } = await hop(key, "pwd; head -c 300000 /dev/zero | wc -c");

    assert.match(stdout.split("\n")[0] ?? "", nodeOf(1));
    assert.equal(stdout.split("\n")[1]?.trim(), "300000");
  });

  await t.test("with no other key", async () => {
    const other = join(control.home, "other");
    await run("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", other]);

    const { code, stderr } = await hop(other, "id");

    assert.equal(code, 255);
    assert.match(stderr, /Permission denied \(publickey\)/);
  });

  await t.test("until it is down", async () => {
    assert.equal((await control.cli("down", "-y", "dev")).code, 0);

    assert.deepEqual(readdirSync(join(control.home, "ssh/clusters")), []);
    assert.deepEqual(readdirSync(join(control.home, "ssh/keys")), []);
  });
});
