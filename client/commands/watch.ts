import { setTimeout as sleep } from "node:timers/promises";
import { openAlarm } from "../alarm.ts";
import { interruptedExit } from "../declined.ts";
import type { EventsInput } from "../events.ts";
import { mayPass } from "../follow.ts";
import type { Run, World } from "../world.ts";

/** Between two looks, however many events there are. */
const shortestPauseMs = 500;
const retryMs = 3_000;
/** Moves to the upper left corner and erases what is there. */
const erase = "\u001b[H\u001b[2J\u001b[3J";

/** For what changes without events. */
const pollMs = 2_000;

/**
 * Shows something now and after each event about it, until Ctrl-C; with null every two seconds. At a terminal each time takes the place
 * of the one before; elsewhere what has not changed is not shown again. A control plane that is away is
 * waited for.
 */
export async function watch(
  world: World,
  input: EventsInput | null,
  show: (world: World) => Promise<unknown>,
): Promise<number> {
  const { signal } = world;
  using alarm = input === null ? undefined : openAlarm(await world.connect(), input, signal);
  const print = openPrinting(world);
  try {
    for (let isFirst = true; ; isFirst = false) {
      const page = openPage(world);
      await show(page.world).catch((error: unknown) => {
        if (isFirst || !mayPass(error, signal)) throw error;
        page.world.terminal.note("The control plane does not respond; retrying.");
      });
      print(page.lines);
      await sleep(shortestPauseMs, undefined, { signal });
      await (alarm?.wait(retryMs) ?? sleep(pollMs, undefined, { signal }));
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    return interruptedExit;
  }
}

/** A command that shows something, with `--watch` again and again as `watch` does. */
export const watchable =
  <Options extends { readonly watch?: boolean }>(
    input: EventsInput | null,
    show: (world: World, names: readonly string[], options: Options) => Promise<undefined>,
  ): Run<Options> =>
  (world, names, options) =>
    options.watch
      ? watch(world, input, (page) => show(page, names, options))
      : show(world, names, options);

interface Line {
  readonly to: "answer" | "note";
  readonly text: string;
}

/** A world that keeps what is told instead of showing it: nothing flickers while it is fetched. */
function openPage(world: World): { world: World; lines: Line[] } {
  const lines: Line[] = [];
  const terminal = {
    ...world.terminal,
    answer: (text: string) =>
      void lines.push({ to: "answer", text: world.json ? onOneLine(text) : text }),
    note: (text: string) => void lines.push({ to: "note", text }),
  };
  return { world: { ...world, terminal }, lines };
}

/** So that each state is a line: JSON Lines. */
const onOneLine = (json: string) => JSON.stringify(JSON.parse(json));

function openPrinting({ terminal, streams, json }: World): (lines: readonly Line[]) => void {
  let before = "";
  return (lines) => {
    const now = JSON.stringify(lines);
    if (now === before && !streams.stdout.isTTY) return;
    before = now;
    if (streams.stdout.isTTY && !json) streams.stdout.write(erase);
    for (const { to, text } of lines) terminal[to](text);
  };
}
