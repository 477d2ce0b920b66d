import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readConfig } from "../../control/config.ts";
import { localLogin } from "../../control/providers/slurm/login.ts";
import { slurmProvider } from "../../control/providers/slurm/slurm.ts";
import { type Bed, testContract } from "../control/providers/contract.ts";
import { startSlurm, whyNoSlurm } from "../helpers/slurm.ts";

testContract(
  "slurm",
  async (t): Promise<Bed> => {
    const home = mkdtempSync(join(tmpdir(), "slurm-home-"));
    t.after(() => rmSync(home, { recursive: true, force: true, maxRetries: 10 }));
    const slurm = await startSlurm(t);
    const { PATH } = process.env;
    const login = localLogin(readConfig({ PATH, OUTRIGGER_SLURM_CONF: slurm.conf }));
    const place = { folder: join(home, "slurm"), scratch: home, controlId: "control" };
    return {
      isGang: true,
      provider: slurmProvider({ name: "local", login, ...place }),
      break: async () => void (await slurm.run("scontrol", "shutdown")),
    };
  },
  { skip: whyNoSlurm() },
);
