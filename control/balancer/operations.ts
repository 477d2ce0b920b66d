import { settingName } from "../../common/config.ts";
import { fail } from "../../common/errors.ts";
import { type Bound, toJsonLines } from "../../common/server.ts";
import { startDetached } from "../../common/start-detached.ts";
import type { BalancerHealth, balancerOperations } from "../../contract/balancer-api.ts";
import type { Balancer } from "./balancer.ts";
import { checkTls, type Entrance } from "./listener.ts";

type Rows = typeof balancerOperations;

/** What each row of the balancer's API does; `ended` resolves once it is told to end in so many ms. */
export function bindOperations(
  balancer: Balancer,
  entrance: Entrance,
  build: string,
): { bound: Bound<Rows>; ended: Promise<number> } {
  const { promise: ended, resolve } = Promise.withResolvers<number>();
  const health = (): BalancerHealth => ({
    ...{ build, pid: process.pid },
    listen: entrance.place,
    revision: balancer.revision,
  });
  const bound: Bound<Rows> = {
    health,
    async plan(plan) {
      checkTls(plan.tls);
      const { tls } = balancer.follow(plan);
      entrance.leaveLost();
      await entrance.open(tls);
      return health();
    },
    reports: (_, { signal }) => toJsonLines(balancer.reports(signal)),
    replace({ command, cwd, env, log }) {
      const { sockets } = entrance;
      const told = { ...env, [settingName("listeners")]: String(sockets.length) };
      const child = startDetached({ command, cwd, env: told, log }, sockets);
      // Control sees whether it runs.
      child.on("error", () => {});
      return { pid: child.pid ?? fail("RuntimeError", `${command[0]} cannot be started`) };
    },
    end({ drainMs }) {
      resolve(drainMs);
      return null;
    },
  };
  return { bound, ended };
}
