import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { readConfig } from "../../control/config.ts";
import { openForwards } from "../../control/doors/ssh/forwards.ts";
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
    const env = { PATH, OUTRIGGER_HOME: home, OUTRIGGER_SLURM_CONF: slurm.conf };
    const login = localLogin(readConfig(env));
    const place = { scratch: home, controlId: "control", epoch: 1, forwards: openForwards() };
    return {
      isGang: true,
      provider: slurmProvider([{ name: "local", login, ...place }], pino({ level: "silent" })),
      break: async () => void (await slurm.run("scontrol", "shutdown")),
    };
  },
  { skip: whyNoSlurm() },
);
