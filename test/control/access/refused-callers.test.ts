import assert from "node:assert/strict";
import { connect } from "node:net";
import { type TestContext, test } from "node:test";
import { tokenOperations as tokens } from "../../../contract/operations/tokens.ts";
import { mismatchName } from "../../../control/audit/mismatch.ts";
import { headersTooLargeName } from "../../../control/http/unreadable.ts";
import { type Callers, callers } from "../../helpers/logged-in.ts";
import { aClient, aSessionOf, cookieWith } from "../sessions/a-login.ts";

const dayMs = 86_400_000;
const tokenAt = (verifier: string) => `/api/v1/auth/token?code_verifier=${verifier}`;

/** A control plane behind a proxy, with a user and a token that the user made. */
async function aBed(t: TestContext) {
  const all = await callers(t, {
    ...{ login: ["password", "proxy"], proxyAddresses: ["10.0.0.7"], proxyUserHeader: "x-user" },
  });
  const ana = await all.as({ name: "ana" });
  const answer = await ana(tokens.create, { token_name: "ci", expires_in_days: 1 });
  const made = answer.json as { token: string; token_id: string };
  return { ...all, made, rotate: () => ana(tokens.rotate, { token_id: made.token_id }) };
}
type Bed = Awaited<ReturnType<typeof aBed>>;

interface Attack {
  /** Answers the status of the attempt. */
  attempt(bed: Bed): Promise<number>;
  readonly status: number;
  /** The entries of what was refused: operation, user, subject. */
  readonly entries: readonly (readonly [string, string, string | null])[];
  readonly reason: RegExp;
}

const whoAmI = async ({ world }: Callers, headers: Record<string, string>, query = "") =>
  (await world.http("GET", `/users/role${query}`, { headers })).status;
const asAna = { authorization: "Bearer sky_outrigger_of-ana" };
const refusedCall = [["users.role", "", null]] as const;

/** What comes of a login of a client that ana has approved. */
async function approved(bed: Bed, fetch: (client: ReturnType<typeof aClient>) => Promise<number>) {
  const client = aClient();
  const headers = cookieWith(await aSessionOf(bed.world.ctx, { name: "ann" }));
  const body = { code_challenge: client.challenge };
  const { status } = await bed.world.http("POST", "/api/v1/auth/authorize", { body, headers });
  assert.equal(status, 200);
  return fetch(client);
}

const attacks: Readonly<Record<string, Attack>> = {
  "a session that somebody else made up": {
    attempt: (bed) => whoAmI(bed, cookieWith("a".repeat(43))),
    ...{ status: 401, entries: refusedCall, reason: /^log in first/ },
  },
  "a login that a client fetches again": {
    attempt: (bed) =>
      approved(bed, async ({ verifier }) => {
        assert.equal((await bed.world.http("GET", tokenAt(verifier))).status, 200);
        return (await bed.world.http("GET", tokenAt(verifier))).status;
      }),
    ...{ status: 404, entries: [["login", "", "user ann"]], reason: /already fetched/ },
  },
  "a challenge in the place of its verifier": {
    attempt: (bed) =>
      approved(
        bed,
        async ({ challenge }) => (await bed.world.http("GET", tokenAt(challenge))).status,
      ),
    ...{
      status: 404,
      entries: [["login", "", "user ann"]],
      reason: /in place of its verifier/,
    },
  },
  "a challenge that is none": {
    async attempt({ world }) {
      const headers = cookieWith(await aSessionOf(world.ctx, { name: "ann" }));
      const body = { code_challenge: "plain" };
      return (await world.http("POST", "/api/v1/auth/authorize", { body, headers })).status;
    },
    ...{ status: 400, entries: [["login.approve", "ann", "user ann"]] },
    reason: /^code_challenge: expected 43 characters/,
  },
  "a token in a query": {
    attempt: (bed) => whoAmI(bed, {}, `?token=${bed.made.token}&access_token=${bed.made.token}`),
    ...{ status: 401, entries: refusedCall, reason: /^log in first/ },
  },
  "an expired token": {
    attempt(bed) {
      bed.world.advance(dayMs);
      return whoAmI(bed, { authorization: `Bearer ${bed.made.token}` });
    },
    ...{ status: 401, entries: refusedCall, reason: /^token ci expired at/ },
  },
  "a rotated token": {
    async attempt(bed) {
      await bed.rotate();
      return whoAmI(bed, { authorization: `Bearer ${bed.made.token}` });
    },
    ...{ status: 401, entries: refusedCall, reason: /^unknown token/ },
  },
  "the header of a proxy from another address": {
    attempt: (bed) => whoAmI(bed, { "x-user": "root", "x-forwarded-for": "10.0.0.7" }),
    ...{ status: 401, entries: [["login", "", "user root"], ...refusedCall] },
    reason: /^x-user is trusted only from OUTRIGGER_PROXY_ADDRESSES/,
  },
  "a header of 1 MB": {
    async attempt({ world }) {
      const socket = connect(`${world.home}.sock`);
      socket.write(
        `GET /users/role HTTP/1.1\r\nhost: a\r\ncookie: ${"a".repeat(1_000_000)}\r\n\r\n`,
      );
      const answer = Buffer.concat(await socket.toArray()).toString();
      // What is written next comes after the entry.
      await world.ctx.batch(async () => {});
      return Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);
    },
    ...{ status: 431, entries: [[headersTooLargeName, "", null]] },
    reason: /^the headers are larger than 16 KB/,
  },
};

for (const [name, { attempt, status, entries, reason }] of Object.entries(attacks))
  test(`refused and audited: ${name}`, async (t) => {
    const bed = await aBed(t);

    assert.equal(await attempt(bed), status);

    const rows = await bed.world.ctx.db.selectFrom("audit").selectAll().orderBy("seq").execute();
    const refused = rows.filter(({ outcome }) => outcome === "refused");
    assert.deepEqual(
      refused.map((row) => [row.operation, row.user_name, row.subject]),
      entries,
    );
    assert.match(refused[0]?.reason ?? "", reason);
    assert.ok(!JSON.stringify(rows).includes(bed.made.token));
  });

test("a 401 says how to log in, and of a token that it is wrong; its body stays as it is", async (t) => {
  const { world } = await aBed(t);
  const challenge = async (headers: Record<string, string>, path = "/users/role") => {
    const answer = await world.http("GET", path, { headers });
    assert.equal(answer.status, 401);
    assert.equal(answer.json["type"], "AuthenticationError");
    assert.equal(typeof answer.json["detail"], "string");
    return answer.headers["www-authenticate"];
  };
  const [missing, wrong] = [
    'Bearer realm="outrigger"',
    'Bearer realm="outrigger", error="invalid_token"',
  ];

  assert.equal(await challenge({}), missing);
  assert.equal(await challenge({}, "/nowhere"), missing);
  assert.equal(await challenge({ authorization: `Basic ${btoa("ana:wrong")}` }), missing);
  for (const token of ["sky_outrigger_guess", "a".repeat(43), "what-else"])
    assert.equal(await challenge({ authorization: `Bearer ${token}` }), wrong, token);
  const form = { headers: { "content-type": "application/x-www-form-urlencoded" } };
  const page = await world.http("POST", "/login", { body: "name=ana&password=wrong", ...form });
  assert.deepEqual([page.status, page.headers["www-authenticate"]], [401, missing]);
  const { headers } = await world.http("GET", "/users/role", { headers: asAna });
  assert.equal(headers["www-authenticate"], undefined);
});

test("an id of another user in a body or a query chooses nobody, and is audited once a minute", async (t) => {
  const bed = await aBed(t);
  const { http, ctx } = bed.world;
  await bed.as({ name: "bob" });
  const claims = [
    ["POST", "/status", { env_vars: { SKYPILOT_USER_ID: "bob" } }],
    ["POST", "/status", { env_vars: { OUTRIGGER_USER_ID: "bob" } }],
    ["GET", `/upload_v2/blob?user_hash=bob&blob_id=${"0a".repeat(32)}`, undefined],
    // What clients that have not logged in make up, and what they know after a login.
    ["POST", "/status", { env_vars: { SKYPILOT_USER_ID: "0a1b2c3d" } }],
    ["POST", "/status", { env_vars: { SKYPILOT_USER_ID: "ana" } }],
  ] as const;
  const mismatches = async () => {
    const rows = await ctx.db.selectFrom("audit").selectAll().execute();
    return rows
      .filter(({ operation }) => operation === mismatchName)
      .map(({ user_id, subject, outcome, reason }) => [user_id, subject, outcome, reason]);
  };

  for (const [method, path, body] of claims) {
    const answer = await http(method, path, { body, headers: asAna });
    assert.equal(answer.status, 200, answer.text);
  }
  const entry = (operation: string) => [
    ...["ana", "user bob (bob)", "refused"],
    `${operation} named this user as its caller, and was carried out as ana`,
  ];
  assert.deepEqual(await mismatches(), [entry("status")]);
  const { text } = await http("GET", "/api/status?all_status=true", { headers: asAna });
  assert.deepEqual(
    JSON.parse(text).map((request: { user_id: string }) => request.user_id),
    Array(4).fill("ana"),
  );

  bed.world.advance(60_000);
  for (const [method, path, body] of claims.slice(2, 3))
    await http(method, path, { body, headers: asAna });
  assert.deepEqual(await mismatches(), [entry("status"), entry("upload_v2.blob")]);
});
