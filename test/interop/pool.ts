import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startSshHost, whyNoHosts } from "../helpers/ssh-hosts.ts";

const twoGpus = `
cat > /usr/local/bin/nvidia-smi <<'END'
#!/bin/sh
for i in 0 1; do echo "GPU $i: NVIDIA H100 80GB HBM3 (UUID: GPU-$i)"; done
END
chmod +x /usr/local/bin/nvidia-smi`;

/**
 * Starts a machine with two GPUs, and writes its pool and its key into the client's home; false where this
 * machine cannot have one.
 */
export async function addPool(home: string, stack: AsyncDisposableStack): Promise<boolean> {
  const why = whyNoHosts();
  if (why !== false) {
    console.log(`left out: pools with the SkyPilot clients, because ${why}`);
    return false;
  }
  const host = await startSshHost({ after: (clean) => stack.defer(clean) }, { node: true });
  await host.run(twoGpus);
  await writeFile(join(home, "id"), host.key, { mode: 0o600 });
  const pool = { user: "ana", identity_file: join(home, "id"), hosts: [host.address] };
  await writeFile(join(home, "pools.yaml"), JSON.stringify({ mine: pool }));
  return true;
}
