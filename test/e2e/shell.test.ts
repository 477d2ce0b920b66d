import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
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
  shell.type("echo begun $((1+1)); sleep 1000\r");
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
