import assert from "node:assert/strict";
import { scryptSync } from "node:crypto";
import { type TestContext, test } from "node:test";
import {
  hashPassword,
  isPasswordOf,
  requirePassword,
  verifyPassword,
} from "../../../control/users/passwords.ts";
import { addUser, setUser } from "../../../control/users/store.ts";
import { makeHashesCostly } from "../../helpers/cheap-passwords.ts";
import { anAccount } from "../../helpers/users.ts";
import { testWorld } from "../../helpers/world.ts";
import { writable } from "../../helpers/writable.ts";

const right = "correct horse";
/** As control makes none: it takes next to no time. */
const cheapHash = "$scrypt$ln=2,r=2,p=2$c2FsdA$DVbawvntKcfk23qTISyjjQ";

async function aWorldWithAna(t: TestContext) {
  const { ctx } = await testWorld(t);
  await addUser(writable(ctx), anAccount({ name: "ana" }), await hashPassword(right));
  return ctx;
}

test("a name and its password are a user; anything else is nobody", async (t) => {
  const ctx = await aWorldWithAna(t);
  await addUser(writable(ctx), anAccount({ name: "bob", kind: "sso" }));

  const found = await verifyPassword(ctx, "ana", right);

  assert.partialDeepStrictEqual(found, { id: "ana", name: "ana", role: "user" });
  for (const [name, password] of [
    ...[
      ["ana", "correct horsE"],
      ["ana", ""],
      ["Ana", right],
      ["nobody", right],
    ],
    ...[
      ["bob", right],
      ["bob", ""],
      ["", ""],
      ["ana", "x".repeat(100_000)],
    ],
  ] as const)
    assert.equal(await verifyPassword(ctx, name, password), undefined, `${name} ${password}`);
});

test("a password that is changed while the old one is compared is not the old one", async (t) => {
  makeHashesCostly(t);
  const ctx = await aWorldWithAna(t);
  const changed = await hashPassword("another horse");

  const comparing = verifyPassword(ctx, "ana", right);
  await setUser(writable(ctx), "ana", { password: changed });

  assert.equal(await comparing, undefined);
});

test("a hash names its parameters, and one of other parameters is read by these", async (t) => {
  makeHashesCostly(t);
  const hash = await hashPassword(right);
  const [, , parameters, salt = "", key = ""] = hash.split("$");
  const saltBytes = Buffer.from(salt, "base64url");
  const options = { N: 2 ** 15, r: 8, p: 1, maxmem: 2 ** 26 };

  assert.equal(parameters, "ln=15,r=8,p=1");
  assert.equal(
    scryptSync(right, saltBytes, 32, options).toString("base64url"),
    key,
    "is what scrypt says",
  );
  assert.notEqual(await hashPassword(right), hash, "each has a salt of its own");
  assert.equal(await isPasswordOf(cheapHash, right), true);
  assert.equal(await isPasswordOf(cheapHash, "correct horsf"), false);
  await assert.rejects(isPasswordOf("$2b$10$abc", right), /unknown form/);
});

test("the same letters typed in another way are the same password", async () => {
  assert.equal(await isPasswordOf(await hashPassword("caf\u00e9 noir"), "cafe\u0301 noir"), true);
});

test("a name that nobody has costs as much as a wrong password", async (t) => {
  makeHashesCostly(t);
  const ctx = await aWorldWithAna(t);
  const cpuOf = async (name: string) => {
    const before = process.cpuUsage();
    await verifyPassword(ctx, name, "wrong password");
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  await cpuOf("ana");

  const [known, unknown] = [await cpuOf("ana"), await cpuOf("nobody")];

  assert.ok(unknown > known / 3, `${unknown} µs for a name that nobody has, ${known} µs for ana`);
});

test("too many at once are refused, and those that wait are answered", async () => {
  const isRight = () => isPasswordOf(cheapHash, right);

  const all = await Promise.allSettled(Array.from({ length: 29 }, isRight));

  const refused = all.filter(({ status }) => status === "rejected");
  assert.equal(refused.length, 5);
  for (const one of refused)
    assert.match(String((one as PromiseRejectedResult).reason), /too many passwords/);
  assert.equal(await isRight(), true, "once they are done there is room again");
});

test("what is too short, too long or no line is no password", () => {
  requirePassword("12345678");
  requirePassword("ü".repeat(256));
  requirePassword("$scrypt$ln=15,r=8,p=1$c2FsdA$a2V5");
  for (const odd of ["", "1234567", "x".repeat(257), "two\nlines", "a\ttab here"])
    assert.throws(() => requirePassword(odd), { type: "ValueError" }, odd);
});
