import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { AppError, type ErrorType, errorCodeOf, fail } from "../../common/errors.ts";
import { readAll } from "../../common/limited.ts";

/** A repository, and what proves to its server who asks. */
export interface Repository {
  /** Without a login. */
  readonly url: string;
  readonly username?: string | undefined;
  /** A password or token, for `https`. */
  readonly token?: string | undefined;
  /** A private key as text, for `ssh`. */
  readonly sshKey?: string | undefined;
}

/** Where git runs, and with what. */
export interface Surroundings {
  /** Control's folder for repositories; the keys of their hosts are remembered there. */
  readonly folder: string;
  /** What control was started with: `PATH`, proxies, certificates. */
  readonly env: Readonly<Record<string, string>>;
  /** Of the SSH agent that has the key, if one is needed. */
  readonly agentSocket?: string | undefined;
}

/** What a server has git print is its own choice; half a million branches and tags fit. */
const printedAtMost = 32 * 1024 * 1024;

/** GitHub wants it, and other servers take any name beside a token. */
const usualUsername = "x-access-token";
/** Git asks it for a login; other users see a command line, but not the environment. */
const helper = `!f() {
  if test "$1" = get && test -n "$OUTRIGGER_GIT_TOKEN"; then
    printf 'username=%s\\npassword=%s\\n' "$OUTRIGGER_GIT_USERNAME" "$OUTRIGGER_GIT_TOKEN"
  fi
}; f`;
const settings = [
  "credential.helper=",
  ...["http.lowSpeedLimit=1", "http.lowSpeedTime=60", "gc.auto=0", "advice.detachedHead=false"],
];

/** Settings for a repository: a login is for the host in its address, wherever that redirects to. */
const settingsFor = (url: string): string[] => {
  const origin = /^https:\/\/[^/]+/i.exec(url)?.[0];
  return origin === undefined ? settings : [...settings, `credential.${origin}.helper=${helper}`];
};

/**
 * Runs git to its end; what it printed. Throws `PermissionDeniedError`, `NotFoundError`, `TooLargeError` or
 * `StorageError` with the repository's name, and with nothing that is secret.
 */
export async function runGit(
  { url, username = usualUsername, token }: Repository,
  { folder, env, agentSocket }: Surroundings,
  args: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  const words = settingsFor(url).flatMap((setting) => ["-c", setting]);
  const git = spawn("git", [...words, ...args], {
    signal,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...env,
      ...{ LC_ALL: "C", HOME: folder, GIT_TERMINAL_PROMPT: "0", GIT_ALLOW_PROTOCOL: "https:ssh" },
      ...{ GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null", GIT_LFS_SKIP_SMUDGE: "1" },
      GIT_SSH_COMMAND: sshCommand(folder, agentSocket),
      ...(env["SSL_CERT_FILE"] && { GIT_SSL_CAINFO: env["SSL_CERT_FILE"] }),
      ...(token && { OUTRIGGER_GIT_USERNAME: username, OUTRIGGER_GIT_TOKEN: token }),
    },
  });
  try {
    const exit = once(git, "close");
    const texts = [git.stdout, git.stderr].map((stream) => textOf(stream, url));
    const [[printed = "", said = ""], [code]] = await Promise.all([Promise.all(texts), exit]);
    return code === 0 ? printed : refuse(url, said);
  } catch (error) {
    signal.throwIfAborted();
    if (errorCodeOf(error) !== "ENOENT") throw error;
    fail("NotSupportedError", "there is no git on the machine of control; install it there");
  } finally {
    git.kill();
  }
}

/** The text of a stream of git. Throws `TooLargeError` for one that would fill the memory. */
async function textOf(stream: Readable, url: string): Promise<string> {
  const bytes = await readAll(stream, printedAtMost, () =>
    fail("TooLargeError", `${url} has too many branches and tags, or its server says too much`),
  );
  return bytes.toString();
}

/** Keys of hosts that are not known yet are believed, and remembered. */
function sshCommand(folder: string, agentSocket: string | undefined): string {
  const options = {
    BatchMode: "yes",
    ConnectTimeout: "30",
    ServerAliveInterval: "15",
    StrictHostKeyChecking: "accept-new",
    UserKnownHostsFile: join(folder, "known_hosts"),
    IdentityFile: "none",
    IdentityAgent: agentSocket ?? "none",
  };
  const words = Object.entries(options).map(([name, value]) => `-o '${name}="${value}"'`);
  return ["ssh", "-F", "/dev/null", ...words].join(" ");
}

const refusals: readonly { says: RegExp; type: ErrorType; why: string }[] = [
  {
    says: /Authentication failed|could not read (Username|Password)|Permission denied|error: 403/,
    type: "PermissionDeniedError",
    why: "refuses access; pass the secret GIT_TOKEN (https) or GIT_SSH_KEY (ssh)",
  },
  {
    says: /Host key verification failed/,
    type: "PermissionDeniedError",
    why: "shows another host key than before; if that is right, delete it from repositories/known_hosts of control",
  },
  {
    says: /not found|not appear to be a git repository|[Nn]o such|error: 404/,
    type: "NotFoundError",
    why: "is not there, or is hidden from these credentials",
  },
];

function refuse(url: string, said: string): never {
  const known = refusals.find(({ says }) => says.test(said));
  if (known !== undefined) fail(known.type, `${url} ${known.why}`);
  const [last = "git failed"] = said.match(/^(fatal|error): .*$/gm)?.slice(-1) ?? [];
  throw new AppError("StorageError", `${url} cannot be read: ${last}`);
}
