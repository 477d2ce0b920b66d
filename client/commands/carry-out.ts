import { AppError } from "../../common/errors.ts";
import type { GivenInputOf, Operation, OutputOf } from "../../common/operation.ts";
import type { Action } from "../output/actions.ts";
import { openProgress } from "../progress.ts";
import type { RequestId } from "../sdk.ts";
import type { Reword } from "../source-positions.ts";
import type { World } from "../world.ts";
import { actionOf, failedAction, tellActions } from "./actions.ts";
import { isLost, reportDetached, type Sent, shortId } from "./detached.ts";

/** One of several things to ask for. */
export interface Submission<Op extends Operation> {
  /** The cluster it is about. */
  readonly name: string;
  readonly title: string;
  readonly input: GivenInputOf<Op>;
  /** Whether it was so before, as far as is known. */
  readonly needless?: boolean;
  /** Called once it is done, unless nobody waits for it. */
  done?(): void;
}

/** What an action tells of its result. */
type Told = Partial<Pick<Action, "job_id" | "endpoint">>;

interface CarryOutOptions<Result> {
  readonly title: string;
  /** What it is about, where that is one thing. */
  readonly name?: string;
  /** What of its result is told as JSON. */
  readonly tells?: (result: Result) => Told | readonly Told[];
  readonly later?: boolean | undefined;
  /** Whether it was so before, as far as is known. */
  readonly needless?: boolean;
  /** What is shown in place of the text that the operation prints. */
  readonly reword?: Reword;
}

/**
 * Sends an operation and shows its steps until it is done; its result. With `later` it prints the
 * id of the request instead, and returns undefined.
 */
export async function carryOut<Op extends Operation>(
  world: World,
  row: Op,
  input: GivenInputOf<Op>,
  { title, name, later = false, needless = false, tells, reword }: CarryOutOptions<OutputOf<Op>>,
): Promise<OutputOf<Op> | undefined> {
  const sent = await send(world, row, { title, input });
  const action = { ...actionOf(sent, "submitted"), name: name ?? null };
  if (later) return tellLater(world, [action]);
  const more = { needless, ...(reword && { reword }) };
  const result = await finish(world, { ...sent, ...more }).catch((error: unknown) => {
    reportDetached(world, [sent], error);
    throw error;
  });
  const outcome = needless ? "unchanged" : "done";
  const told = [tells?.(result) ?? {}].flat();
  tellActions(
    world,
    told.map((of) => ({ ...action, outcome, ...of })),
  );
  return result;
}

interface AllOptions {
  readonly later: boolean;
  /** What they print is what was asked for: it goes to stdout. */
  readonly answers?: boolean;
}

/**
 * Sends an operation once for each submission, in their order, then shows the steps of one after the
 * other. Goes on after a failure, and throws the first one at the end.
 */
export async function carryOutAll<Op extends Operation>(
  world: World,
  row: Op,
  submissions: readonly Submission<Op>[],
  { later, answers = false }: AllOptions,
): Promise<void> {
  const failures = openFailures(world, submissions.length, actionNameOf(row));
  const sent = await sendAll(world, row, submissions, failures);
  const done: Action[] = [];
  if (later)
    tellLater(world, [...sent.map((one) => actionOf(one, "submitted")), ...failures.actions]);
  else {
    for (const [at, one] of sent.entries())
      await finish(world, one, answers && !world.json).then(
        () => {
          done.push(actionOf(one, one.needless ? "unchanged" : "done"));
          one.done?.();
        },
        (error: unknown) => {
          if (reportDetached(world, sent.slice(at), error)) throw error;
          failures.add(one.name, error, one.id);
        },
      );
    tellActions(world, [...done, ...failures.actions]);
  }
  failures.throwFirst();
}

type Failures = ReturnType<typeof openFailures>;

/** Of several things each failure is told as it comes; of one it is thrown at once. */
function openFailures({ terminal }: World, of: number, action: string) {
  const failures: unknown[] = [];
  const actions: Action[] = [];
  return {
    actions,
    add(name: string, error: unknown, id?: string): void {
      if (of === 1 || !(error instanceof AppError)) throw error;
      terminal.warn(`${terminal.paintNote("red", "✗")} ${name}: ${error.message}`);
      failures.push(error);
      actions.push(failedAction(action, name, error, id));
    },
    throwFirst(): void {
      if (failures.length > 0) throw failures[0];
    },
  };
}

async function sendAll<Op extends Operation>(
  world: World,
  row: Op,
  submissions: readonly Submission<Op>[],
  failures: Failures,
) {
  const sent: (Sent<OutputOf<Op>> & Submission<Op>)[] = [];
  for (const [at, submission] of submissions.entries())
    try {
      sent.push({ ...(await send(world, row, submission)), ...submission });
    } catch (error) {
      if (reportDetached(world, sent, error) && world.signal.aborted) {
        const rest = submissions.slice(at).map(({ name }) => name);
        world.terminal.note(
          `May not have been sent: ${rest.join(", ")}; check with: outrigger api status`,
        );
        throw error;
      }
      failures.add(submission.name, error);
    }
  return sent;
}

async function send<Op extends Operation>(
  world: World,
  row: Op,
  submission: Pick<Submission<Op>, "title" | "input"> & { readonly name?: string },
): Promise<Sent<OutputOf<Op>>> {
  const client = await world.connect();
  const id = (await client.call(row, submission.input)) as RequestId<OutputOf<Op>>;
  return { id, title: submission.title, action: actionNameOf(row), name: submission.name };
}

/** What the operation does, in a word: `launch`; of services, managed jobs and pools in the words of the command. */
function actionNameOf({ name, requestName = name }: Operation): string {
  if (/^(serve|jobs)\./.test(name)) return name.replace(/[._]/g, " ");
  const verb = requestName.split(/[._]/).at(-1) ?? name;
  if (name.startsWith("ssh_node_pools.")) return `ssh ${verb}`;
  return name.startsWith("volume_") ? `volumes ${verb}` : verb;
}

function tellLater(world: World, actions: readonly Action[]): undefined {
  tellActions(world, actions);
  for (const { request_id: id } of actions) {
    if (id === null) continue;
    if (!world.json) world.terminal.answer(id);
    world.terminal.note(`Follow it: outrigger api logs ${shortId(id)}`);
  }
}

async function finish<T>(
  world: World,
  {
    id,
    title,
    needless = false,
    reword,
  }: Sent<T> & Pick<CarryOutOptions<never>, "needless" | "reword">,
  answers = false,
): Promise<T> {
  const { terminal } = world;
  const client = await world.connect();
  const progress = openProgress(terminal, Date.now, answers ? terminal.write : terminal.draw);
  progress.step(title);
  try {
    const write = async (bytes: Buffer) => progress.write((await reword?.(bytes)) ?? bytes);
    await client.stream(id, reword ? { ...progress, write } : progress);
    const result = await client.get(id);
    progress.end(needless ? "needless" : "done");
    return result;
  } catch (error) {
    progress.end(world.signal.aborted || isLost(error) ? "left" : "failed");
    throw error;
  }
}
