import { once } from "node:events";
import { connect as dialTcp, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { AuthMethod, Client, ConnectConfig } from "ssh2";
import { type AppError, fail } from "../../../common/errors.ts";
import { distrust, type KnownHosts, readHostKey, signaturesOf } from "./host-keys.ts";
import { machineOf, nameOf, type SshTarget } from "./target.ts";
import { codes, sshTrouble, within } from "./trouble.ts";

const dialMs = 4_000;
const handshakeMs = 5_000;
/** A connection is taken for dead when it was asked twice in vain. */
const keepAlive = { keepaliveInterval: 3_000, keepaliveCountMax: 2 };

/** Opens a TCP connection to a machine, without delays; throws within seconds. */
export async function dial(target: SshTarget): Promise<Socket> {
  const { address: host, port } = target;
  const socket = dialTcp({ host, port, noDelay: true });
  try {
    await within(once(socket, "connect"), dialMs, () => late(target));
    return socket;
  } catch (error) {
    socket.destroy();
    throw sshTrouble(target, error);
  }
}

const late = (target: SshTarget): AppError =>
  sshTrouble(target, Object.assign(new Error("late"), { code: "ETIMEDOUT" }));

/**
 * Logs in on a machine over a connection to its SSH server. Throws `CloudError` or `TimeoutError`
 * that says which step failed; the connection is closed then.
 */
export async function logIn(
  target: SshTarget,
  socket: Duplex,
  knownHosts: KnownHosts,
): Promise<Client> {
  const known = await knownHosts.find(machineOf(target));
  // Loaded when it is first needed: most control planes reach nothing over SSH.
  const { default: ssh2 } = await import("ssh2");
  const client = new ssh2.Client();
  let distrusted: AppError | undefined;
  // One listener for good: errors after the login come with the end of the connection.
  client.on("error", () => {});
  // Every channel that is being opened listens for the end.
  client.setMaxListeners(0);
  const ready = Promise.withResolvers<void>();
  client.once("ready", ready.resolve);
  client.once("error", (error) => ready.reject(error.message === lostEarly ? turnedAway() : error));
  client.once("close", () => ready.reject(turnedAway()));
  try {
    client.connect({
      ...keepAlive,
      sock: socket,
      username: target.user,
      readyTimeout: 0,
      authHandler: methodsOf(target, ssh2.utils.parseKey),
      hostVerifier: (blob: Buffer, verify: (isRight: boolean) => void) => {
        distrust(target, readHostKey(blob), knownHosts).then(
          (why) => {
            distrusted = why;
            verify(why === undefined);
          },
          (error: unknown) => ready.reject(error),
        );
      },
      ...(known !== undefined && {
        algorithms: {
          serverHostKey: { prepend: signaturesOf(known.kind), append: [], remove: [] },
        },
      }),
    } as ConnectConfig);
    await within(ready.promise, handshakeMs, () => late(target));
    return client;
  } catch (error) {
    client.destroy();
    socket.destroy();
    throw distrusted ?? sshTrouble(target, error);
  }
}

/** What `ssh2` says where the other end closes before it says what it is. */
const lostEarly = "Connection lost before handshake";
const turnedAway = () => Object.assign(new Error("closed"), { code: codes.turnedAway });

type ParseKey = typeof import("ssh2")["utils"]["parseKey"];

/** Ways to log in, in the order in which they are tried. */
function methodsOf(target: SshTarget, parseKey: ParseKey): AuthMethod[] {
  const { user: username, agentSocket: agent, password } = target;
  const secret = password?.reveal() ?? "";
  const methods: Record<string, unknown>[] = [
    ...readableKeys(target, parseKey).map((key) => ({ type: "publickey", key })),
    ...(agent === null ? [] : [{ type: "agent", agent }]),
    ...(password === null ? [] : [{ type: "password", password: secret }]),
    ...(password === null ? [] : [{ type: "keyboard-interactive", prompt: answerWith(secret) }]),
  ];
  if (methods.length === 0) methods.push({ type: "none" });
  return methods.map((method) => ({ ...method, username })) as unknown as AuthMethod[];
}

/** Leaves out keys that cannot be read, unless there is no other way in. */
function readableKeys(target: SshTarget, parseKey: ParseKey): string[] {
  const texts = target.keys.map(({ text }) => text.reveal());
  const faults = texts.map((text) => parseKey(text)).map((key) => key instanceof Error && key);
  const readable = texts.filter((_, index) => faults[index] === false);
  const fault = faults.find((one) => one !== false);
  const isOnlyWay =
    readable.length === 0 && target.agentSocket === null && target.password === null;
  if (fault === undefined || !isOnlyWay) return readable;
  const why = /passphrase|encrypted/i.test(fault.message)
    ? "has a passphrase; load it in an SSH agent, or use one without"
    : "is not a private key in a supported format";
  fail("CloudError", `host ${nameOf(target)}: the key ${target.keys[0]?.name} ${why}`);
}

/** Servers that ask for a password in a dialogue. Source: RFC 4256. */
const answerWith =
  (password: string) =>
  (
    _name: string,
    _instructions: string,
    _language: string,
    prompts: readonly unknown[],
    finish: (answers: string[]) => void,
  ): void =>
    finish(prompts.map(() => password));
