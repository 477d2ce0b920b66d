import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { Share, Way } from "../../../../control/jobs/schema.ts";
import { couldTake, placeFor, type Room } from "../../../../control/services/pools/place.ts";

const aWay = (more: Partial<Way> = {}): Way => ({
  ...{ cpus: 0, memoryGb: 0, accelerators: null },
  ...more,
});
const aShare = (way: Partial<Way> = {}, more: Partial<Share> = {}): Share => ({
  ...{ nodes: 1, ways: [aWay(way)], files: null },
  ...more,
});
const aRoom = (held: readonly Share[] = [], more: Partial<Room> = {}): Room => ({
  ...{ nodes: 1, cpus: 4, memoryGb: 16, accelerators: { name: "H100", count: 8 }, held },
  ...more,
});
const gpus = (count: number, name = "H100"): Partial<Way> => ({ accelerators: { name, count } });

const cases: readonly [string, Share, readonly Room[], number | undefined][] = [
  ["nothing in particular takes an idle worker", aShare(), [aRoom([aShare()]), aRoom()], 1],
  ["nothing in particular shares no worker", aShare(), [aRoom([aShare({ cpus: 1 })])], undefined],
  ["a worker that has such a job is full", aShare({ cpus: 1 }), [aRoom([aShare()])], undefined],
  ["what is left is enough", aShare(gpus(4)), [aRoom([aShare(gpus(4))])], 0],
  ["what is left is too little", aShare(gpus(5)), [aRoom([aShare(gpus(4))])], undefined],
  ["the idlest worker is taken", aShare(gpus(1)), [aRoom([aShare(gpus(1))]), aRoom()], 1],
  ["another kind of accelerator", aShare(gpus(1, "A100")), [aRoom()], undefined],
  ["the kind in other letters", aShare(gpus(1, "h100")), [aRoom()], 0],
  ["more nodes than a worker has", aShare({}, { nodes: 2 }), [aRoom()], undefined],
  ["fewer nodes than it has", aShare(), [aRoom([], { nodes: 2 })], 0],
  [
    "a second way where the first is not there",
    aShare({}, { ways: [aWay(gpus(1, "A100")), aWay({ cpus: 1 })] }),
    [aRoom([aShare({ cpus: 3 })])],
    0,
  ],
  [
    "other files than those that are there",
    aShare({ cpus: 1 }, { files: "b" }),
    [aRoom([aShare({ cpus: 1 }, { files: "a" })])],
    undefined,
  ],
  [
    "the same files",
    aShare({ cpus: 1 }, { files: "a" }),
    [aRoom([aShare({ cpus: 1 }, { files: "a" }), aShare({ cpus: 1 })])],
    0,
  ],
];

for (const [what, share, rooms, at] of cases)
  test(`a job is placed: ${what}`, () => {
    assert.equal(placeFor(rooms, share), at === undefined ? undefined : rooms[at]);
  });

const shares = fc
  .record({
    cpus: fc.constantFrom(0, 0.5, 1, 3),
    memoryGb: fc.constantFrom(0, 4, 9),
    accelerators: fc.constantFrom(null, { name: "H100", count: 2 }, { name: "H100", count: 0.5 }),
  })
  .map((way) => aShare(way));

test("jobs that are placed one after another never take more than a worker has", () => {
  fc.assert(
    fc.property(fc.array(shares, { maxLength: 40 }), (all) => {
      const rooms = [aRoom(), aRoom([], { cpus: 2 }), aRoom([], { accelerators: null })];
      for (const share of all) {
        const room = placeFor(rooms, share);
        if (room === undefined) continue;
        rooms[rooms.indexOf(room)] = { ...room, held: [...room.held, share] };
      }
      for (const { held, cpus, memoryGb, accelerators } of rooms) {
        const ways = held.flatMap((one) => one.ways);
        const sum = (of: (way: Way) => number) => ways.reduce((total, way) => total + of(way), 0);
        const whole = ways.filter((way) => way.cpus + way.memoryGb === 0 && !way.accelerators);
        assert.ok(whole.length === 0 || ways.length === 1);
        assert.ok(sum((way) => way.cpus) <= cpus && sum((way) => way.memoryGb) <= memoryGb);
        assert.ok(sum((way) => way.accelerators?.count ?? 0) <= (accelerators?.count ?? 0));
      }
    }),
  );
});

test("what an idle worker could take it takes", () => {
  fc.assert(
    fc.property(shares, (share) => {
      assert.equal(placeFor([aRoom()], share) !== undefined, couldTake(aRoom(), share));
    }),
  );
});
