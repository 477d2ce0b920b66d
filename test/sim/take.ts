import { toAppError } from "../../common/errors.ts";
import { Violation } from "./checks.ts";
import { isOfDead } from "./host.ts";
import type { Program } from "./program.ts";
import type { Read } from "./reads.ts";
import type { Step } from "./script.ts";
import type { Stage } from "./stage.ts";

/** Does what a step says. */
export async function take(stage: Stage, number: number, step: Step): Promise<void> {
  const { cloud, host, network, requests, note } = stage;
  note(`${number} ${JSON.stringify(step)}`);
  const { clusterOf, jobs } = stage.checks;
  const idOf = (name: string) => clusterOf(name) ?? jobs.clusterOf(name) ?? "";
  switch (step.do) {
    case "call":
      return call(stage, number, step);
    case "cancel": {
      const input = { request_ids: [requests.get(step.step)].filter((id) => id !== undefined) };
      return call(stage, number, { operation: "api_cancel", user: step.user, input });
    }
    case "read":
      return network.clock.tell(() => read(stage, number, step));
    case "collect":
      return collect(stage);
    case "idle":
      return cloud.becomeIdle(idOf(step.name));
    case "crash":
      return host.crash(step.statements, step.awayMs);
    case "restart":
      return network.clock.tell(() => void host.restart());
    case "trouble":
      return network.trouble(step.place, step.trouble, step.times);
    case "full":
      return cloud.fill(step.zone, step.forMs);
    case "queue":
      return cloud.queue(step.zone, step.forMs);
    case "cut off":
      return cloud.cutOff(idOf(step.name), step.rank, step.forMs);
    case "isolate":
      return cloud.isolate(idOf(step.name), step.rank, step.forMs);
    case "kill agent":
      return cloud.killAgent(idOf(step.name), step.rank, step.awayMs);
    case "reboot":
      return cloud.reboot(idOf(step.name), step.rank, step.awayMs);
    case "lose node":
      return cloud.loseNode(idOf(step.name), step.rank);
    case "preempt":
      return cloud.preempt(idOf(step.name), step.rank, step);
    case "fill disk":
      return host.fill(step.statements, step.forMs);
    case "step clock":
      return network.clock.step(step.whose, step.byMs);
    case "freeze":
      return network.clock.freeze(step.how, step.forMs);
    case "overtake":
      return host.overtake(step.forMs);
    case "slow node":
      return cloud.slowDown(idOf(step.name), step.rank, step.byMs, step.forMs);
    case "silence":
      return cloud.silence(idOf(step.name), step.rank, step.forMs);
    case "kill balancer":
      return stage.balancers.kill(stage.checks.serviceOf(step.name) ?? "");
  }
}

function read({ host, reads, network }: Stage, number: number, step: Read): void {
  const program = host.program();
  if (program !== undefined) void reads.begin(number, step, program, network.clock.newest());
}

/** Forgets what is old; that the disk is full, or that control crashes or is overtaken, is not its fault. */
export function collect({ host, checks, network, guarded }: Stage, done = () => {}): void {
  const failed = (error: unknown, program: Program) => {
    const { type } = toAppError(error);
    if (type !== "InternalError" || isOfDead(error) || host.program() !== program) return;
    guarded(() => {
      throw new Violation("a collector failed", String(error));
    });
  };
  checks.atEnd.remember();
  network.clock.tell(() => {
    const program = host.program();
    const collected = program?.collect().catch((error: unknown) => failed(error, program));
    void collected?.then(done);
  });
}

interface Wish {
  readonly operation: string;
  readonly user: string;
  readonly input: Record<string, unknown>;
}

/** Has a user call an operation, which control hears of once it is not frozen any more. */
export function call(stage: Stage, number: number, wish: Wish): void {
  const { clock } = stage.network;
  const open = { process: clock.newest() };
  stage.calls.add(open);
  clock.tell(() => {
    void calling(stage, number, wish).finally(() => {
      stage.calls.delete(open);
      stage.change();
    });
  });
}

async function calling({ host, requests, note }: Stage, number: number, wish: Wish): Promise<void> {
  const program = host.program();
  if (program === undefined) return void note(`${number} ${wish.operation}: control is away`);
  try {
    const id = await program.call(wish.operation, wish.user, wish.input);
    requests.set(number, id);
    note(`${number} ${wish.operation} is ${id}`);
  } catch (error) {
    note(`${number} ${wish.operation}: ${error}`);
  }
}
