import assert from "node:assert/strict";
import { test } from "node:test";
import { openLanes } from "../../control/lanes.ts";

const turn = () => new Promise(setImmediate);
const never = new AbortController().signal;

/** Work whose end the test decides on, by its name. */
function worksOf(placesOfLane: number) {
  const lanes = openLanes(placesOfLane);
  const begun: string[] = [];
  const running = new Map<string, () => void>();
  const begin = (name: string, user: string, lane = "cloud", signal = never) =>
    lanes.run(
      lane,
      user,
      () => {
        begun.push(name);
        return new Promise<void>((resolve) => running.set(name, resolve));
      },
      signal,
    );
  const end = async (name: string) => {
    running.get(name)?.();
    await turn();
  };
  return { begin, begun, end };
}

test("a lane has so many places, and another lane has its own", async () => {
  const { begin, begun, end } = worksOf(2);
  for (const name of ["a", "b", "c"]) void begin(name, "ann");
  void begin("d", "ann", "other");
  await turn();
  assert.deepEqual(begun, ["a", "b", "d"]);

  await end("a");
  assert.deepEqual(begun, ["a", "b", "d", "c"]);
});

test("the next place is for the user who has the fewest", async () => {
  const { begin, begun, end } = worksOf(2);
  for (const name of ["ann1", "ann2", "ann3", "ann4"]) void begin(name, "ann");
  void begin("ben1", "ben");
  void begin("ben2", "ben");
  await turn();

  await end("ann1");
  await end("ann2");

  assert.deepEqual(begun, ["ann1", "ann2", "ben1", "ann3"]);
});

test("one user never has all the places of a lane", async () => {
  const { begin, begun, end } = worksOf(4);
  for (const name of ["ann1", "ann2", "ann3", "ann4"]) void begin(name, "ann");
  void begin("ben1", "ben");
  await turn();
  assert.deepEqual(begun, ["ann1", "ann2", "ann3", "ben1"]);

  await end("ben1");
  assert.ok(!begun.includes("ann4"));
  await end("ann1");
  assert.ok(begun.includes("ann4"));
});

test("work that is aborted while it waits never begins, and work that fails gives its place back", async () => {
  const { begin, begun, end } = worksOf(1);
  const abort = new AbortController();
  void begin("a", "ann");
  const waiting = begin("b", "ann", "cloud", abort.signal);
  abort.abort(new Error("enough"));

  await assert.rejects(waiting, /enough/);
  await end("a");
  void begin("c", "ann");
  await turn();
  assert.deepEqual(begun, ["a", "c"]);
});
