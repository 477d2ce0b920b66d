import assert from "node:assert/strict";
import { test } from "node:test";
import { userOperations as rows } from "../../../contract/operations/users.ts";
import type { UserImportResult } from "../../../contract/records/users.ts";
import { importUsers } from "../../../control/users/import.ts";
import { verifyPassword } from "../../../control/users/passwords.ts";
import { findUserByName, listUsers } from "../../../control/users/store.ts";
import { anIdentity } from "../../helpers/callers.ts";
import { callers } from "../../helpers/logged-in.ts";

const header = "username,password,role";

async function bed(t: Parameters<typeof callers>[0]) {
  const all = await callers(t);
  const admin = await all.as({ name: "root", role: "admin" });
  const send = (text: string) => admin(rows.import, { csv_content: text });
  return {
    ...all,
    admin,
    send,
    /** The result of an import that is answered with 200. */
    async imported(...lines: string[]): Promise<UserImportResult> {
      const { status, json, detail } = await send([header, ...lines].join("\r\n"));
      assert.equal(status, 200, detail);
      return json;
    },
    names: async () => (await listUsers(all.world.ctx.db)).map(({ name }) => name),
  };
}

test("users come in with their passwords and roles, and can log in", async (t) => {
  const { world, imported } = await bed(t);

  const result = await imported(
    "ana,correct horse,admin",
    '"bo ""b"", jr","a,b"",c d",Viewer',
    "$2b,$scrypt$ln=15$c2FsdA$a2V5,",
  );

  assert.deepEqual(result, {
    ...{ success_count: 3, error_count: 0, total_processed: 3 },
    ...{ parse_errors: [], creation_errors: [] },
  });
  const roleOf = async (name: string, password: string) =>
    (await verifyPassword(world.ctx, name, password))?.role;
  assert.equal(await roleOf("ana", "correct horse"), "admin");
  assert.equal(await roleOf('bo "b", jr', 'a,b",c d'), "viewer");
  assert.equal(await roleOf("$2b", "$scrypt$ln=15$c2FsdA$a2V5"), "user", "is just a password");
});

test("what is exported comes in again and changes nothing; no hash is in it", async (t) => {
  const { imported, admin, send, names, as } = await bed(t);
  await imported("ana,correct horse,viewer", '"o, p",correct horse,user');
  await as({ name: "sa:ci", kind: "sa" });

  const exported = (await admin(rows.export, {})).json as { csv_content: string };
  const again = await send(exported.csv_content);

  assert.deepEqual(exported, {
    csv_content: `${header}\r\nana,,viewer\r\n"o, p",,user\r\nroot,,admin\r\n`,
    user_count: 3,
  });
  assert.partialDeepStrictEqual(again.json, { success_count: 3, error_count: 0 });
  assert.partialDeepStrictEqual(
    await imported("ana,correct horse,viewer"),
    { success_count: 1 },
    "and so does what it came from",
  );
  assert.deepEqual(await names(), ["ana", "o, p", "root"]);
});

test("one bad line, and nothing is imported; each is named by its number", async (t) => {
  const { imported, names } = await bed(t);
  await imported("ana,correct horse,user");

  const { parse_errors, creation_errors, ...counts } = await imported(
    '"new\nlines",correct horse,user',
    "good,correct horse,user",
    "",
    "few,correct horse",
    "good,correct horse,user",
    "bad,correct horse,boss",
    "=1+1,correct horse,user",
    "short,1234567,user",
    'a"b,correct horse,user',
    '"open,correct horse,user',
    "passwordless,,user",
    "ana,,admin",
    "ana2,correct horse,user",
    "root,correct horse,admin",
  );

  assert.deepEqual(counts, { success_count: 0, error_count: 11, total_processed: 5 });
  for (const [at, message] of [
    [0, /^line 2: .*invisible/],
    [1, /^line 6: there are 2 fields, not 3/],
    [2, /^line 7: good is already on line 4/],
    [3, /^line 8: there is no role "boss"/],
    [4, /^line 9: .*formula/],
    [5, /^line 10: a password has 8/],
    [6, /^line 11: a quote/],
    [7, /^line 12: a quote/],
  ] as const)
    assert.match(parse_errors[at] ?? "", message);
  assert.deepEqual(creation_errors, [
    "line 13: passwordless is new, and needs a password",
    "line 14: ana exists with the role user",
    "line 16: root exists without a password",
  ]);
  assert.deepEqual(await names(), ["ana", "root"]);
});

test("a user who exists with another password is an error", async (t) => {
  const { imported } = await bed(t);
  await imported("ana,correct horse,user");

  const { creation_errors } = await imported("ana,another horse,user");

  assert.deepEqual(creation_errors, ["line 2: ana exists with another password"]);
});

test("LF, a mark of the byte order, and columns in any order are read", async (t) => {
  const { send, world } = await bed(t);

  const { json } = await send('\uFEFFrole,Username,"password"\nviewer,ana,correct horse');

  assert.partialDeepStrictEqual(json, { success_count: 1 });
  assert.equal((await findUserByName(world.ctx.db, "ana"))?.role, "viewer");
});

test("a text that is no table of users is refused", async (t) => {
  const { send, names } = await bed(t);
  const many = Array.from({ length: 1_001 }, (_, n) => `u${n},correct horse,user`);

  for (const [text, message] of [
    ["", /is empty/],
    ["\n\n", /is empty/],
    [`${header}\n`, /no user after the header/],
    ["username,password\nana,correct horse", /must be the header username,password,role/],
    [`${header},mail\nana,correct horse,user,m`, /must be the header/],
    ["ana,correct horse,user\nbob,correct horse,user", /must be the header/],
    [`${header}\nana,correct horse`, /no line names a user: line 2: there are 2 fields/],
    [[header, ...many].join("\n"), /too many users; import up to 1000 at a time/],
  ] as const) {
    const { status, detail } = await send(text);
    assert.equal(status, 400, text);
    assert.match(detail, message);
  }
  assert.deepEqual(await names(), ["root"]);
});

test("of imports of the same new users at the same time one succeeds, the other imports nothing", async (t) => {
  const { imported, names, world } = await bed(t);

  const results = await Promise.all([
    imported("ana,correct horse,user", "only1,correct horse,user"),
    imported("only2,another horse,user", "ana,another horse,user"),
  ]);

  const [won, lost] = results.toSorted((a, b) => b.success_count - a.success_count);
  assert.deepEqual([won?.success_count, lost?.success_count], [2, 0]);
  assert.match(lost?.creation_errors.join() ?? "", /^line [23]: ana was created by someone else/);
  assert.equal((await names()).length, 3);
  const is1 = (await names()).includes("only1");
  assert.ok(await verifyPassword(world.ctx, "ana", is1 ? "correct horse" : "another horse"));
});

test("a client that hangs up leaves nothing half done", async (t) => {
  const { world, names } = await bed(t);
  const abort = new AbortController();

  const importing = importUsers(
    world.ctx,
    `${header}\nana,correct horse,user\nbob,correct horse,user`,
    { ...anIdentity(), id: "r1", origin: null, signal: abort.signal },
  );
  abort.abort(new Error("hung up"));

  await assert.rejects(importing, /hung up/);
  assert.deepEqual(await names(), ["root"]);
});
