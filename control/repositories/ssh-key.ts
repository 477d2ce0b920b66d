import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fail } from "../../common/errors.ts";
import { product } from "../../common/product.ts";

/** An agent ends with what keeps its input open, also where control is killed. */
const untilClosed = `echo; cat; kill "$SSH_AGENT_PID"; rm -rf "\${SSH_AUTH_SOCK%/*}"`;

/** Works with an SSH agent that has a key, which so is in no file; it ends with the work. */
export async function withKey<T>(
  key: string,
  env: Readonly<Record<string, string>>,
  work: (socket: string) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), `${product.word}-key-`));
  const socket = join(folder, "agent");
  const agent = spawn("ssh-agent", ["-a", socket, "sh", "-c", untilClosed], {
    env,
    stdio: ["pipe", "pipe", "ignore"],
  });
  const ended = once(agent, "close").catch(() => undefined);
  try {
    await once(agent, "spawn").catch(() =>
      fail(
        "NotSupportedError",
        "there is no ssh-agent on the machine of control; install OpenSSH there",
      ),
    );
    // It listens before it says where.
    await Promise.race([once(agent.stdout, "data"), ended]);
    const add = spawn("ssh-add", ["-q", "-"], {
      env: { ...env, SSH_AUTH_SOCK: socket },
      stdio: ["pipe", "ignore", "ignore"],
    });
    add.stdin.on("error", () => {}).end(`${key.trimEnd()}\n`);
    const [code] = await once(add, "close");
    if (code !== 0)
      fail("ValueError", "the secret GIT_SSH_KEY is no private key, or one with a passphrase");
    return await work(socket);
  } finally {
    agent.stdin.end();
    await ended;
    await rm(folder, { recursive: true, force: true });
  }
}
