import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startSshHost, whyNoHosts } from "../helpers/ssh-hosts.ts";
import { type Step, step } from "./steps.ts";

/** A machine that the existing client makes a pool of, as far as there can be one here. */
export interface Pool extends AsyncDisposable {
  /** The life of the pool, after which nothing of it is left. */
  readonly steps: readonly Step[][];
}

const twoGpus = `
cat > /usr/local/bin/nvidia-smi <<'END'
#!/bin/sh
for i in 0 1; do echo "GPU $i: NVIDIA H100 80GB HBM3 (UUID: GPU-$i)"; done
END
chmod +x /usr/local/bin/nvidia-smi`;

/** Starts a machine with two GPUs; its pool and its key are files in the client's home. */
export async function openPool(home: string): Promise<Pool> {
  const stack = new AsyncDisposableStack();
  const why = whyNoHosts();
  if (why !== false) {
    console.log(`interop: pools are left out: ${why}`);
    return { steps: [], [Symbol.asyncDispose]: () => stack.disposeAsync() };
  }
  const host = await startSshHost({ after: (clean) => stack.defer(clean) }, { node: true });
  await host.run(twoGpus);
  await writeFile(join(home, "id"), host.key, { mode: 0o600 });
  const pool = { user: "ana", identity_file: join(home, "id"), hosts: [host.address] };
  await writeFile(join(home, "pools.yaml"), JSON.stringify({ mine: pool }));
  const free = (count: number) => new RegExp(`^H100 +1, 2 +${count} of 2 free`, "m");
  return {
    steps: [
      [step("ssh up -f pools.yaml", [/^mine\/[\d.]+: ready in .*H100:2/m])],
      [step("gpus list --infra ssh", [free(2)]), step("check ssh", [/^ssh: ssh\/mine \(H100:2/m])],
      [step("launch -y -c far --infra ssh/mine 'id -un'", [/^ana$/m])],
      [step("gpus list", [free(0)]), step("status far", [/^far +SSH \(ssh\/mine\) .*\bUP\b/m])],
      [step("down -y far", [/Terminating cluster far\.\.\.done/])],
      [step("ssh down --infra mine", [/^mine\/[\d.]+: clean in /m])],
    ],
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
