import assert from "node:assert/strict";
import { once } from "node:events";
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { openOwners } from "../../../control/http/owners.ts";

const loopback = (from: number, to: number, ip = "127.0.0.1") => ({
  from: { ip, port: from },
  to: { ip, port: to },
});
const hex = (port: number) => port.toString(16).toUpperCase().padStart(4, "0");
const row = (from: number, to: number, uid: number, inode = 77, state = "01") =>
  `   9: 0100007F:${hex(from)} 0100007F:${hex(to)} ${state} 00000000:00000000 00:00000000 00000000 ` +
  `${String(uid).padStart(5)}        0 ${inode} 1 0000000000000000 20 4 30 10 -1\n`;

/** Owners as these rows have them. */
function tableOf(t: TestContext, ...rows: string[]) {
  const folder = mkdtempSync(join(tmpdir(), "net-"));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "tcp"), `  sl  local_address rem_address   st\n${rows.join("")}`);
  return { owners: openOwners(folder), file: join(folder, "tcp"), file6: join(folder, "tcp6") };
}

for (const host of ["127.0.0.1", "::1"])
  test(`a connection of ours over ${host} is ours`, async (t) => {
    const server = createServer().listen(0, host);
    await once(server, "listening");
    const client = connect((server.address() as AddressInfo).port, host);
    const [socket] = await once(server, "connection");
    t.after(() => {
      client.destroy();
      server.close();
    });

    const { remoteAddress, remotePort, localAddress, localPort } = socket;
    const uid = await openOwners().of({
      from: { ip: remoteAddress, port: remotePort },
      to: { ip: localAddress, port: localPort },
    });

    assert.equal(uid, process.getuid?.());
  });

test("the row of the far end counts, not that of ours or of another connection", async (t) => {
  const { owners } = tableOf(t, row(80, 5000, 1), row(5001, 80, 2), row(5000, 80, 1000));

  assert.equal(await owners.of(loopback(5000, 80)), 1000);
});

test("a connection that no process has any more is nobody's, though the kernel says root", async (t) => {
  const { owners } = tableOf(t, row(5000, 80, 0, 0, "06"), row(5001, 80, 0, 0, "04"));

  assert.equal(await owners.of(loopback(5000, 80)), undefined);
  assert.equal(await owners.of(loopback(5001, 80)), undefined);
});

test("each is told its own where many ask at once", async (t) => {
  const ports = Array.from({ length: 500 }, (_, at) => 10_000 + at);
  const { owners } = tableOf(t, ...ports.map((port) => row(port, 80, port - 9_000)));

  const told = await Promise.all(ports.map((port) => owners.of(loopback(port, 80))));

  assert.deepEqual(
    told,
    ports.map((port) => port - 9_000),
  );
});

test("what is found is as it is when it is asked for", async (t) => {
  const { owners, file } = tableOf(t, row(5000, 80, 1));
  const first = owners.of(loopback(5000, 80));
  writeFileSync(file, row(5000, 80, 2));
  appendFileSync(file, row(5001, 80, 3));

  assert.deepEqual(
    await Promise.all([owners.of(loopback(5001, 80)), owners.of(loopback(5000, 80))]),
    [3, 2],
  );
  await first;
});

test("a row that a pass over the tables missed is found by the next one", async (t) => {
  const { owners, file, file6 } = tableOf(t, row(5000, 80, 1));
  const loopback6 = `${"0".repeat(24)}01000000`;
  writeFileSync(file6, row(5001, 80, 2).replaceAll("0100007F", loopback6));
  const first = owners.of(loopback(5000, 80));
  const missed = owners.of(loopback(5002, 80));
  const later = owners.of(loopback(5001, 80, "::1"));

  // It stands in the table that is read last, and so the other one was read without its row.
  assert.deepEqual(await Promise.all([first, later]), [1, 2]);
  appendFileSync(file, row(5002, 80, 3));

  assert.equal(await missed, 3);
});

test("a system without such tables says nothing", async () => {
  assert.equal(await openOwners("/nonexistent").of(loopback(5000, 80)), undefined);
});
