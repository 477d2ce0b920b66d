import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import type { IncomingMessage } from "node:http";
import { test } from "node:test";
import { openBodyMemory } from "../../../control/http/bodies.ts";

/** A request with a body of 3 MB, on a connection that is open or not. */
function aRequest({ isOpen }: { isOpen: boolean }): IncomingMessage {
  const socket = Object.assign(new EventEmitter(), { destroyed: !isOpen });
  const headers = { "content-length": "3000000" };
  return Object.assign(new EventEmitter(), { headers, socket }) as unknown as IncomingMessage;
}

test("a request whose connection has closed meanwhile holds no room for its body", () => {
  const hasRoomFor = openBodyMemory({ bodyMemoryMegabytes: 4 });

  assert.equal(hasRoomFor(aRequest({ isOpen: false })), true);
  const one = aRequest({ isOpen: true });
  assert.equal(hasRoomFor(one), true);
  assert.equal(hasRoomFor(aRequest({ isOpen: true })), false);
  one.socket.emit("close");
  assert.equal(hasRoomFor(aRequest({ isOpen: true })), true);
});
