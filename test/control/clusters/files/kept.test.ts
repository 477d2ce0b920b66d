import assert from "node:assert/strict";
import { test } from "node:test";
import { withParcels } from "../../../../control/clusters/files/kept.ts";
import type { KeptParcel } from "../../../../control/clusters/files/parcels.ts";

const parcel = (destination: string, blobId: string) => ({
  name: destination,
  destination,
  userId: "u1",
  blobId,
  place: "/p",
});
const a = parcel("~/w", "a");
const b = parcel("~/w", "b");
const mount = parcel("~/m", "a");
const here = (one: typeof a): KeptParcel => ({ ...one, hasArrived: true });
const coming = (one: typeof a): KeptParcel => ({ ...one, hasArrived: false });

const cases: [name: string, before: KeptParcel[], hasArrived: boolean, after: KeptParcel[]][] = [
  ["the first one is on its way", [], false, [coming(b)]],
  [
    "what has arrived stays while another one is on its way",
    [here(a)],
    false,
    [here(a), coming(b)],
  ],
  ["once that has arrived, it alone is left", [here(a), coming(b)], true, [here(b)]],
  ["what did not get there is forgotten for the next", [coming(a)], false, [coming(b)]],
  [
    "other destinations stay, in the order in which they came",
    [here(a), here(mount)],
    true,
    [here(mount), here(b)],
  ],
];

for (const [name, before, hasArrived, after] of cases)
  test(`parcels of a cluster: ${name}`, () => {
    assert.deepEqual(withParcels(before, [b], hasArrived), after);
  });
