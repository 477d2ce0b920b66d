/**
 * A module that groups of tests are run with. node:test follows each promise and handle to the test that made
 * it, only to name that test when an error is thrown later: a quarter of all processor time. Without that
 * such an error still fails the run, and is told of the file.
 */
import { createHook } from "node:async_hooks";

const hooks = Object.getPrototypeOf(createHook({}));
hooks.enable = function enable() {
  return this;
};
