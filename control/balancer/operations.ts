import { type Bound, toJsonLines } from "../../common/server.ts";
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
    end({ drainMs }) {
      resolve(drainMs);
      return null;
    },
  };
  return { bound, ended };
}
