import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { after, test } from "node:test";
import { findGroupPlaces, groupsOf } from "../../agent/control-groups.ts";
import { findBearers, findProcess } from "../../common/process-tree.ts";
import { openFrames, parseLine } from "../../contract/frames.ts";
import {
  type ShellInput,
  ShellOutput,
  type ShellStart,
  toFrame,
} from "../../contract/shell-api.ts";
import { startAgent, until } from "../helpers/agent.ts";

const terminal = { columns: 80, rows: 24, type: "xterm" };
/** The agent's `stty` takes long over 30 rows, and leaves a file once it is done. */
const tools = mkdtempSync(join(tmpdir(), "tools-"));
after(() => rmSync(tools, { recursive: true }));
const slow = `#!/bin/sh
case "$*" in *" rows 30 "*) sleep 0.2; /usr/bin/stty "$@"; exec touch ${tools}/done ;; esac
exec /usr/bin/stty "$@"
`;
writeFileSync(join(tools, "stty"), slow, { mode: 0o755 });
const agent = await startAgent({ after }, { env: { PATH: `${tools}:${process.env["PATH"]}` } });

/** A shell of an agent, driven by hand. */
async function openShell(start: ShellStart) {
  const input = new PassThrough();
  input.write(toFrame(start));
  const { body } = await agent.open("openShell", {}, input);
  let output = "";
  let errors = "";
  let exit: unknown;
  const ended = (async () => {
    const frames = openFrames(body);
    for (let line = await frames.line(); line !== undefined; line = await frames.line()) {
      const frame = parseLine(ShellOutput, line);
      assert.ok(frame, line);
      if (frame.kind === "exit") exit = { code: frame.code, signal: frame.signal };
      else
        for await (const chunk of frames.bytes(frame.bytes))
          if (frame.kind === "output") output += Buffer.from(chunk);
          else errors += Buffer.from(chunk);
    }
  })();
  ended.catch(() => {});
  const send = (frame: ShellInput, bytes = "") => void input.write(toFrame(frame) + bytes);
  return {
    type: (text: string) => send({ kind: "input", bytes: Buffer.byteLength(text) }, text),
    send,
    /** Waits until the output has it; answers all of the output. */
    see: (wanted: RegExp) => until(() => (wanted.test(output) ? output : undefined)),
    leave: () => body.on("error", () => {}).destroy(),
    async end() {
      await ended;
      return { output, errors, exit };
    },
  };
}

/** What marks every process of the shell that this one belongs to. */
function markOf(pid: number): string {
  const [mark] =
    /OUTRIGGER_JOB_FOLDER=[^\0]+/.exec(readFileSync(`/proc/${pid}/environ`, "utf8")) ?? [];
  return mark ?? assert.fail("no mark");
}

test("a command without a terminal has three streams of its own, and its exit code", async () => {
  const command = 'cat; test -t 0 || echo "no terminal in $PWD" >&2; exit 7';
  const shell = await openShell({ command, terminal: null });

  shell.type("to and ");
  shell.type("fro\0\n");
  shell.send({ kind: "inputEnds" });

  assert.deepEqual(await shell.end(), {
    output: "to and fro\0\n",
    errors: `no terminal in ${agent.home}\n`,
    exit: { code: 7, signal: null },
  });
});

test("a command that a signal ends says which", async () => {
  const shell = await openShell({ command: "kill -KILL $$", terminal: null });

  assert.deepEqual((await shell.end()).exit, { code: null, signal: "SIGKILL" });
});

test("a shell at a terminal has its size, echoes, hears Ctrl-C, and leaves its exit code", async () => {
  const shell = await openShell({ command: null, terminal });

  shell.type("stty size; echo $TERM:$((1+1))\r");
  const first = await shell.see(/xterm:2/);
  shell.send({ kind: "resize", size: { columns: 101, rows: 33 } });
  shell.type(
    "trap 'echo resized to $(stty size)' WINCH; until [ \"$(stty size)\" = '33 101' ]; do sleep 0.02; done; echo now $(stty size)\r",
  );
  await shell.see(/now 33 101/);
  // It is in the foreground once it writes; a Ctrl-C before that would be the shell's.
  shell.type("sh -c 'echo begin$((1+1)); exec sleep 1000'\r");
  await shell.see(/begin2/);
  shell.type("\x03");
  shell.type("exit $(($? - 100 + 10))\r");

  const { exit } = await shell.end();
  assert.match(first, /echo \$TERM/, "echoed");
  assert.match(first, /^24 80/m);
  assert.deepEqual(exit, { code: 40, signal: null });
});

test("of many sizes the last one stays, and what is typed after it finds it", async () => {
  const shell = await openShell({ command: null, terminal });

  for (let rows = 30; rows < 34; rows += 1)
    shell.send({ kind: "resize", size: { columns: 300 - rows, rows } });
  shell.type(`until [ -e ${tools}/done ]; do sleep 0.01; done; echo "size: $(stty size)"\r`);

  assert.match(await shell.see(/^size: \d/m), /^size: 33 267\s*$/m);
  shell.type("exit\r");
  await shell.end();
});

test("a shell and all that it started end once its caller goes", async () => {
  const shell = await openShell({ command: null, terminal });
  shell.type("setsid sleep 1001 & (setsid sleep 1002 &) ; echo started $((1+1)) $$\r");
  const [, pid] = /started 2 (\d+)/.exec(await shell.see(/started 2 \d+/)) ?? [];
  const idle = await agent.call("getIdle", {});
  const mark = markOf(Number(pid));
  assert.ok(findBearers(mark).length >= 3);

  shell.leave();

  await until(() => findBearers(mark).length === 0 || undefined);
  assert.deepEqual(idle.keptAliveBy, ["shell"]);
  await until(async () => (await agent.call("getIdle", {})).keptAliveBy.length === 0 || undefined);
});

test("what a shell leaves in the background ends with it", async () => {
  const shell = await openShell({ command: "sleep 1003 & echo $!", terminal: null });

  const { output, exit } = await shell.end();

  assert.equal(findProcess(Number(output))?.alive ?? false, false);
  assert.deepEqual(exit, { code: 0, signal: null });
});

test("a shell is in control groups of its own, which find what hides and go with the shell", {
  skip: findGroupPlaces().length === 0 && "no control groups can be made here",
}, async () => {
  // Its session, its environment and its parent say nothing of the shell.
  const hide = "env -i setsid sleep 1005 > /dev/null 2>&1 & sleep 0";
  for (const at of [null, terminal]) {
    const shell = await openShell({
      command: `(${hide}; echo "hidden $!"); cat /proc/self/cgroup; echo shown; read go`,
      terminal: at,
    });
    const text = await shell.see(/^shown/m);
    const [, pid] = /^hidden (\d+)/m.exec(text) ?? assert.fail(text);
    const [group] = groupsNow();
    assert.match(text, /^\d+:.*\/outrigger-shells-[0-9a-f-]+-[0-9a-f]{12}\s*$/m);
    assert.ok(group);
    assert.match(readFileSync(join(group, "cgroup.procs"), "utf8"), new RegExp(`^${pid}$`, "m"));
    assert.ok(findProcess(Number(pid))?.alive);

    shell.type("\n");
    await shell.end();

    assert.equal(findProcess(Number(pid))?.alive ?? false, false);
    assert.deepEqual(groupsNow(), []);
  }
});

/** The control groups of this agent's shells. */
function groupsNow(): string[] {
  const [place] = findGroupPlaces();
  const shells = join(agent.home, ".outrigger/shells");
  const ids = existsSync(shells) ? readdirSync(shells) : [];
  return ids.flatMap((id) => (place ? groupsOf([place], join(shells, id)) : [])).filter(existsSync);
}

test("what is written faster than it is read waits, and none of it is lost", async () => {
  const command = "head -c 50000000 /dev/zero | tr '\\0' x";
  const shell = await openShell({ command, terminal: null });

  assert.equal((await shell.end()).output.length, 50_000_000);
});

test("a caller that reads slowly gets all of the output", async () => {
  // What the buffers on the way take differs; at one of these sizes the rest is in the shell's pipe.
  const sizes = Array.from({ length: 12 }, (_, index) => 400_000 + index * 30_000);

  const received = await Promise.all(
    sizes.map(async (size) => {
      const input = new PassThrough();
      input.write(toFrame({ command: `head -c ${size} /dev/zero`, terminal: null }));
      const { body } = await agent.open("openShell", {}, input);
      const readsAt = performance.now() + 3_000;
      await until(() => performance.now() > readsAt || undefined);
      let bytes = 0;
      for await (const chunk of body) bytes += chunk.filter((byte: number) => byte === 0).length;
      return bytes;
    }),
  );

  assert.deepEqual(received, sizes);
});

test("a start that is none is refused", async () => {
  const input = new PassThrough();
  input.end('{"command":3}\n');

  await assert.rejects(agent.open("openShell", {}, input), { name: "ValueError" });
});
