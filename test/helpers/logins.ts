import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { openClient } from "../../client/sdk.ts";
import { Secret } from "../../common/secret.ts";
import { userOperations } from "../../contract/operations/users.ts";
import { mainOf } from "./tested.ts";

/** A command line in a home of its own. */
export interface Login {
  /** The page that it asks the user to open. */
  readonly page: Promise<string>;
  readonly pid: number;
  readonly ended: Promise<{ code: number | null; stdout: string; stderr: string }>;
}

/** Runs a command line in a home that knows no control plane. */
export function runIn(home: string, ...words: string[]): Login {
  const { PATH = "" } = process.env;
  const child = spawn(process.execPath, [mainOf("outrigger"), ...words], {
    cwd: home,
    env: { PATH, HOME: home, OUTRIGGER_HOME: home, USER: "ann", OUTRIGGER_AUTOSTART: "off" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const page = Promise.withResolvers<string>();
  page.promise.catch(() => {});
  const out = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name].on("data", (chunk: Buffer) => {
      out[name] += chunk;
      const [url] = /http\S+\/auth\/authorize\S+(?=\s)/.exec(out.stderr) ?? [];
      if (url !== undefined) page.resolve(url);
    });
  const ended = once(child, "close").then(() => {
    page.reject(new Error(`no page to open: ${out.stderr}`));
    return { code: child.exitCode, ...out };
  });
  return { page: page.promise, pid: child.pid ?? 0, ended };
}

/** Makes a user with a password, as the owner of the home of a control plane may. */
export async function makeUser(
  { home, endpoint }: { home: string; endpoint: string },
  username: string,
  password: string,
): Promise<void> {
  const token = new Secret(readFileSync(join(home, "token"), "utf8").trim());
  const client = openClient({ endpoint, token, origin: "a test" });
  await client.call(userOperations.create, { username, password });
  await client.close();
}
