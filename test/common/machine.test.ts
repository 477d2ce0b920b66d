import assert from "node:assert/strict";
import { test } from "node:test";
import { machine } from "../../common/machine.ts";
import * as statuses from "../../contract/statuses.ts";

const light = machine("light", "RED", {
  RED: { to: ["GREEN"], means: "stand" },
  GREEN: { to: ["RED", "OFF"], means: "go" },
  OFF: { to: [], means: "nobody knows" },
});

test("a machine allows what its table says", () => {
  assert.deepEqual(light.names, ["RED", "GREEN", "OFF"]);
  assert.ok(light.allows("RED", "GREEN"));
  assert.ok(!light.allows("RED", "OFF"));
  assert.ok(!light.allows("RED", "RED"));
  assert.deepEqual(light.names.filter(light.isFinal), ["OFF"]);
  assert.deepEqual(light.initials, ["RED"]);
  const either = machine("lamp", ["ON", "BROKEN"], {
    ON: { to: ["BROKEN"], means: "it shines" },
    BROKEN: { to: [], means: "it does not" },
  });
  assert.deepEqual([either.initial, either.initials], ["ON", ["ON", "BROKEN"]]);
});

const machines = Object.values(statuses).filter((value) => "states" in value);

for (const {
  name,
  names,
  initials,
  states,
  isFinal,
  allows,
} of machines as unknown as (typeof light)[])
  test(`every status of a ${name} can be reached, and an end from every status`, () => {
    const from = (starts: readonly string[], next: (status: string) => readonly string[]) => {
      const seen = new Set(starts);
      for (const status of seen) for (const one of next(status)) seen.add(one);
      return seen;
    };
    const all = names as readonly string[];
    const before = (to: string) => all.filter((status) => allows(status as "RED", to as "RED"));

    assert.deepEqual(from(initials, (status) => states[status as "RED"].to).size, names.length);
    assert.deepEqual(from(names.filter(isFinal), before).size, names.length);
    for (const status of names) assert.match(states[status].means, /^[a-z]/);
  });
