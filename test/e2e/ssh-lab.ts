import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sshNodePoolOperations as rows } from "../../contract/operations/ssh-node-pools.ts";
import { startControl, type TestControl } from "../helpers/programs.ts";
import { type SshHost, type SshHostOptions, startSshHost } from "../helpers/ssh-hosts.ts";

/** How long a network is away; connections notice after nine seconds. */
export const cutMs = Number(process.env["LINK_CUT_MS"] ?? 9_000);

/** Counts line by line until it is told to stop, then leaves the last number: no line of its log can be missing unseen. */
export const counting = `
for ((n = 1; ; n += 1)); do
  echo $n
  if [ -e ~/go ]; then echo $n > ~/count; exit; fi
  sleep 0.05
done`;

/** A control plane and a pool `lab` of real hosts. */
export interface Lab {
  readonly control: TestControl;
  readonly hosts: readonly SshHost[];
  /** Writes the pool down: each host by its place, with more in its entry where that is given. */
  put(entries: readonly Entry[], more?: object): Promise<void>;
  /** Deploys the pool, or cleans it up; what was printed, and the error when it failed. */
  run(what: "deploy" | "down"): Promise<{ text: string; error: string | null }>;
  status(): Promise<{ status: string; reason: string }>;
}

interface Entry {
  readonly host: Pick<SshHost, "address" | "key">;
  readonly more?: object;
}

interface Cleaner {
  after(clean: () => Promise<void>): void;
}

/** Packing Node.js takes seconds; the same pack serves all tests. */
const packed = join(import.meta.dirname, "../../node_modules/.cache/bundles");

/** Starts hosts and a control plane that may log in on them; the pool is not deployed. */
export async function openLab(
  t: Cleaner,
  hosts: readonly SshHostOptions[],
  env: Readonly<Record<string, string>> = {},
  bundles?: string,
): Promise<Lab> {
  // What ends control fails a test that left something behind: hosts are gone by then.
  const started = await Promise.all(hosts.map((options) => startSshHost(t, options)));
  const control = await startControl(t, { env, bundles });
  mkdirSync(packed, { recursive: true });
  symlinkSync(packed, join(control.home, "control/bundles"));
  const send = async (method: string, path: string, body?: unknown) => {
    const answer = await fetch(`${control.endpoint}/ssh_node_pools${path}`, {
      method,
      ...(body !== undefined && {
        body: JSON.stringify(body),
        headers: { "content-type": "application/json" },
      }),
    });
    const json = (await answer.json()) as Record<string, string>;
    if (answer.status !== 200) throw new Error(json["detail"]);
    return json;
  };
  const lab: Lab = {
    control,
    hosts: started,
    async put(entries, more = {}) {
      const written = entries.map(({ host, more: own = {} }) => {
        const file = join(control.home, `key-${host.address}`);
        writeFileSync(file, host.key, { mode: 0o600 });
        return { ip: host.address, identity_file: file, ...own };
      });
      await send("POST", "", { lab: { hosts: written, user: "ana", ...more } });
    },
    async run(what) {
      const chunks: Buffer[] = [];
      const sink = { write: (bytes: Buffer) => void chunks.push(bytes), control() {} };
      const id = await control.client.call(rows[what], { pool_name: "lab" });
      await control.client.stream(id, sink).catch(() => {});
      const error = await control.client.get(id).then(
        () => null,
        ({ message }: Error) => message,
      );
      return { text: Buffer.concat(chunks).toString(), error };
    },
    status: async () => (await send("GET", "/lab/status")) as never,
  };
  await lab.put(started.map((host) => ({ host })));
  return lab;
}
