import assert from "node:assert/strict";
import { test } from "node:test";
import { openPresence } from "../../../../control/services/balancing/uptime.ts";

test("presence goes on while time passes, and begins anew when the clock is set or the machine slept", () => {
  const clock = { wall: 1_000_000, steady: 50 };
  const pass = (wall: number, steady: number) => {
    clock.wall += wall;
    clock.steady += steady;
  };
  const since = openPresence(
    () => clock.wall,
    () => clock.steady,
  );

  pass(600_000, 600_000);
  assert.equal(since(), 1_000_000);
  pass(-3_600_000, 5_000);
  assert.equal(since(), clock.wall);
  pass(8_000, 8_000);
  assert.equal(since(), clock.wall - 8_000);
  pass(3_600_000, 10);
  assert.equal(since(), clock.wall);
});

test("a clock that is only kept right breaks no presence", () => {
  const clock = { wall: 0, steady: 0 };
  const since = openPresence(
    () => clock.wall,
    () => clock.steady,
  );

  for (let look = 0; look < 100; look += 1) {
    clock.wall += 5_050;
    clock.steady += 5_000;
    since();
  }

  assert.equal(since(), 0);
});
