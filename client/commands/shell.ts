import { once } from "node:events";
import { constants } from "node:os";
import { type Duplex, PassThrough } from "node:stream";
import { finished, pipeline } from "node:stream/promises";
import type { ClientChannel, ParsedKey, Client as SshClient } from "ssh2";
import { fail } from "../../common/errors.ts";
import { shellWord } from "../../common/shell-word.ts";
import { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import type { ClusterStatusRecord } from "../../contract/records/clusters.ts";
import type { Command } from "../catalog.ts";
import type { Output, Streams } from "../terminal.ts";
import type { World } from "../world.ts";

type Credentials = NonNullable<ClusterStatusRecord["credentials"]>;

const loginMs = 20_000;
/** A connection is taken for dead when it was asked so often in vain. */
const keepAlive = { keepaliveInterval: 15_000, keepaliveCountMax: 4 };
const interruptedCode = 130;

/** `outrigger shell`: a shell on a node, or one command; ends with its exit code. */
export const shell: Command<"shell"> = async (world, operands, { node = 0, stdio = false }) => {
  const [name, ...words] = operands;
  if (name === undefined) fail("UsageError", "name the cluster: outrigger shell CLUSTER");
  const client = await world.connect();
  const way = await client.connect(rows.ssh, { cluster_name: name, worker: node });
  if (stdio) return relay(world, way);
  const credentials = await credentialsOf(world, name);
  const ssh = await logIn(way, credentials);
  try {
    return await run(world, name, ssh, commandOf(words));
  } finally {
    ssh.end();
    way.destroy();
  }
};

/** One word is a command line; several are a command and its arguments. */
function commandOf(words: readonly string[]): string | undefined {
  if (words.length < 2) return words[0];
  return words.map(shellWord).join(" ");
}

/** For `ssh`, which speaks through us. */
async function relay({ streams }: World, way: Duplex): Promise<number> {
  const { stdin, stdout } = streams;
  await Promise.race([
    pipeline(stdin, way, { end: false }).then(() => once(way.end(), "close")),
    pipeline(way, stdout, { end: false }),
  ]).catch(() => {});
  way.destroy();
  stdin.destroy();
  return 0;
}

/** What lets us in. */
async function credentialsOf(world: World, name: string): Promise<Credentials> {
  const client = await world.connect();
  const [record] = await client.callAndGet(rows.status, {
    cluster_names: [name],
    include_credentials: true,
    include_handle: false,
    summary_response: true,
  });
  return record?.credentials ?? fail("ClusterNotUpError", `cluster ${name} is not up`);
}

/** Also rejects when the connection ends during the key exchange, which ssh2 does not report. */
export async function logIn(way: Duplex, credentials: Credentials): Promise<SshClient> {
  const { default: ssh2 } = await import("ssh2");
  const { ssh_private_key_content: privateKey = "", ssh_host_key: hostKey = "" } = credentials;
  const known = ssh2.utils.parseKey(hostKey) as ParsedKey;
  const client = new ssh2.Client();
  client.on("error", () => {});
  const ended = finished(way).then(() => fail("UnreachableError", "the control plane hung up"));
  const ready = Promise.race([once(client, "ready"), ended]);
  client.connect({
    ...keepAlive,
    sock: way as never,
    username: credentials.ssh_user,
    privateKey,
    readyTimeout: loginMs,
    hostVerifier: (key: Buffer) => key.equals(known.getPublicSSH()),
  });
  await ready;
  return client;
}

/** Runs it to its end, with our own terminal where we have one. */
async function run(
  { streams, env, signal }: World,
  name: string,
  ssh: SshClient,
  command: string | undefined,
): Promise<number> {
  const { stdin, stdout, stderr } = streams;
  const isTerminal = stdin.isTTY === true && stdout.isTTY === true;
  const pty = isTerminal && { ...sizeOf(stdout), term: env["TERM"] ?? "xterm" };
  const channel = await openChannel(ssh, command, pty);
  const unfollow = isTerminal ? followSize(channel, stdout) : () => {};
  const leave = () => channel.destroy();
  signal.addEventListener("abort", leave, { once: true });
  if (isTerminal) stdin.setRawMode?.(true);
  try {
    return await converse(channel, { stdin, stdout, stderr }, name);
  } catch (error) {
    if (signal.aborted) return interruptedCode;
    throw error;
  } finally {
    signal.removeEventListener("abort", leave);
    unfollow();
    if (isTerminal) stdin.setRawMode?.(false);
    stdin.destroy();
  }
}

const sizeOf = ({ columns, rows }: Pick<Output, "columns" | "rows">) => ({
  ...{ cols: columns ?? 80, rows: rows ?? 24 },
  ...{ width: 0, height: 0 },
});

/**
 * Sends the size of our terminal now, as it may have changed while the channel was being opened, and
 * each time that it changes; the answer ends that.
 */
export function followSize(
  channel: Pick<ClientChannel, "setWindow">,
  terminal: Output,
): () => void {
  const send = () => {
    const { cols, rows, width, height } = sizeOf(terminal);
    channel.setWindow(rows, cols, height, width);
  };
  terminal.on("resize", send);
  send();
  return () => void terminal.off("resize", send);
}

type Pty = false | { cols: number; rows: number; width: number; height: number; term: string };

function openChannel(
  ssh: SshClient,
  command: string | undefined,
  pty: Pty,
): Promise<ClientChannel> {
  const { promise, resolve, reject } = Promise.withResolvers<ClientChannel>();
  const done = (error: Error | undefined, channel: ClientChannel) =>
    error ? reject(error) : resolve(channel);
  if (command === undefined) ssh.shell(pty, done);
  else ssh.exec(command, { pty: pty || false }, done);
  return promise;
}

/** Passes everything on both ways; answers the exit code. */
async function converse(
  channel: ClientChannel,
  { stdin, stdout, stderr }: Streams,
  name: string,
): Promise<number> {
  let code: number | undefined;
  channel.on("exit", (exit: number | null, signal: string | null) => {
    code = exit ?? 128 + (signalNumbers[signal ?? ""] ?? 0);
  });
  const closed = once(channel, "close");
  const errors = channel.stderr.pipe(new PassThrough());
  void pipeline(stdin, channel).catch(() => {});
  await Promise.all([
    pipeline(channel, stdout, { end: false }),
    pipeline(errors, stderr, { end: false }),
  ]).catch(() => {});
  await closed;
  return code ?? fail("UnreachableError", `the connection to ${name} was lost`);
}

const signalNumbers: Readonly<Record<string, number>> = constants.signals;
