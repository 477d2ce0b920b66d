import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { commandLine, wordsOf } from "./command-line.ts";
import { fakeControl, type Handler, type Routes, sendJson } from "./fake-control.ts";

const sending =
  (value: unknown): Handler =>
  (_seen, res) =>
    sendJson(res, 200, value);

const ana = {
  ...{ id: "u1", name: "ana", role: "user", created_at: 0 },
  ...{ user_type: "basic", has_password: false },
};
const ci = {
  ...{ token_id: "t1", token_name: "ci", created_at: 0, last_used_at: null, expires_at: 86_400 },
  ...{ creator_user_hash: "u1", creator_name: "ana", service_account_user_id: "sa-1" },
  ...{ service_account_name: "ci", service_account_roles: ["user"] },
};
const secret = {
  ...{ token_id: "t1", token_name: "ci", token: "sky_outrigger_secret", expires_at: null },
  ...{ service_account_user_id: "sa-1", message: "keep it" },
};
const tokens = "/users/service-account-tokens";

const routes: Routes = {
  "GET /users": sending([ana, { ...ana, id: "u2", name: "bob", user_type: "sso" }]),
  "POST /users/create": sending(null),
  "POST /users/update": sending(null),
  "POST /users/delete": sending(null),
  "GET /users/export": sending({ csv_content: "username,password,role\r\n", user_count: 0 }),
  [`GET ${tokens}`]: sending([ci]),
  [`POST ${tokens}`]: sending(secret),
  [`POST ${tokens}/rotate`]: sending(secret),
  [`POST ${tokens}/delete`]: sending({ message: "deleted" }),
  [`POST ${tokens}/get-role`]: sending({ roles: ["user"] }),
  [`POST ${tokens}/update-role`]: sending({}),
};

async function bed(t: TestContext, more: Routes = {}) {
  const control = await fakeControl(t, { ...routes, ...more });
  return { control, outrigger: await commandLine(t, control.endpoint) };
}

test("a password is asked for twice, and shown nowhere", async (t) => {
  const { control, outrigger } = await bed(t);

  const { code, stdout, stderr } = await outrigger(wordsOf("users create carl --role viewer"), {
    typed: "correct horse\ncorrect horse\n",
  });

  assert.deepEqual([code, stdout], [0, ""], stderr);
  assert.equal(stderr, "Password: \nPassword again: \nCreated user carl.\n");
  const [created] = control.to("POST /users/create");
  assert.partialDeepStrictEqual(created?.body, {
    ...{ username: "carl", password: "correct horse", role: "viewer" },
    entrypoint_command: "outrigger users create carl --role viewer",
  });
});

test("two passwords that differ, an end of the input, and no terminal change nothing", async (t) => {
  const { control, outrigger } = await bed(t);
  const words = wordsOf("users create carl");

  const differ = await outrigger(words, { typed: "correct horse\nanother horse\n" });
  const ended = await outrigger(words, { typed: "correct horse\n" });
  const alone = await outrigger(words);

  assert.match(differ.stderr, /the two passwords differ/);
  assert.match(ended.stderr, /Nothing was changed/);
  assert.match(alone.stderr, /pass --password-stdin/);
  assert.deepEqual([differ.code, ended.code, alone.code], [2, 1, 2]);
  assert.deepEqual(control.to("POST /users/create"), []);
});

test("--password-stdin takes the line that is piped, and no option takes a password", async (t) => {
  const { control, outrigger } = await bed(t);

  const piped = await outrigger(wordsOf("users update ana --password-stdin"), {
    piped: "correct horse \r\n",
  });
  const odd = await outrigger(wordsOf("users create carl --password secret"));

  assert.equal(piped.code, 0, piped.stderr);
  assert.partialDeepStrictEqual(control.to("POST /users/update")[0]?.body, {
    ...{ user_id: "u1", password: "correct horse ", role: null },
  });
  assert.equal(odd.code, 2);
  assert.match(odd.stderr, /unknown option '--password'/);
});

test("users are changed by name, and one that there is not is named with its neighbour", async (t) => {
  const { control, outrigger } = await bed(t);

  const changed = await outrigger(wordsOf("users update bob --role admin"));
  const unknown = await outrigger(wordsOf("users update anna --role admin"));
  const nothing = await outrigger(wordsOf("users update ana"));
  const odd = await outrigger(wordsOf("users update ana --role boss"));

  assert.equal(changed.code, 0, changed.stderr);
  assert.partialDeepStrictEqual(control.to("POST /users/update")[0]?.body, {
    ...{ user_id: "u2", role: "admin", password: null },
  });
  assert.deepEqual([unknown.code, nothing.code, odd.code], [3, 2, 2]);
  assert.match(unknown.stderr, /there is no user anna; did you mean `ana`/);
  assert.match(nothing.stderr, /say what to change/);
  assert.match(odd.stderr, /Allowed choices are admin, user, viewer/);
});

test("deleting asks, goes on after a refusal, and tells each", async (t) => {
  const refused: Handler = ({ body }, res) =>
    body["user_id"] === "u1"
      ? sendJson(res, 400, { detail: "ana still owns cluster dev", type: "ValueError" })
      : sendJson(res, 200, null);
  const { control, outrigger } = await bed(t, { "POST /users/delete": refused });

  const declined = await outrigger(wordsOf("users delete ana"), { typed: "\n" });
  assert.equal(declined.code, 1);
  assert.equal(control.to("POST /users/delete").length, 0);
  const { code, stderr } = await outrigger(wordsOf("users delete -y ana bob"));

  assert.equal(code, 2);
  assert.match(stderr, /✗ ana: ana still owns cluster dev\nDeleted user bob\./);
});

test("users and how they log in are listed", async (t) => {
  const { outrigger } = await bed(t);

  const { stdout } = await outrigger(["users", "list"]);

  assert.match(
    stdout,
    /^NAME +ROLE +LOGIN +CREATED\nana +user +no password yet .*\nbob +user +sso /,
  );
});

test("an import says what is wrong with which line, and an export is CSV alone", async (t) => {
  const { control, outrigger } = await bed(t, {
    "POST /users/import": sending({
      ...{ success_count: 0, error_count: 2, total_processed: 1 },
      ...{ parse_errors: ["line 2: a"], creation_errors: ["line 3: b"] },
    }),
  });
  await writeFile(join(outrigger.folder, "people.csv"), "username,password,role\r\nx,y,z\r\n");

  const imported = await outrigger(wordsOf("users import people.csv"));
  const piped = await outrigger(wordsOf("users import -"), { piped: "from a pipe" });
  const missing = await outrigger(wordsOf("users import nothing.csv"));
  const exported = await outrigger(wordsOf("users export"));

  assert.equal(imported.code, 2);
  assert.match(imported.stderr, /^people\.csv: line 2: a\npeople\.csv: line 3: b\n.*nothing was/);
  const texts = control.to("POST /users/import").map(({ body }) => body["csv_content"]);
  assert.deepEqual(texts, ["username,password,role\r\nx,y,z\r\n", "from a pipe"]);
  assert.deepEqual([piped.code, missing.code], [2, 3]);
  assert.equal(exported.stdout, "username,password,role\r\n");
});

test("a new token is printed once, on stdout, with a hint how to use it", async (t) => {
  const { control, outrigger } = await bed(t);

  const made = await outrigger(wordsOf("tokens create ci --role viewer --expires-in-days 30"));
  const rotated = await outrigger(wordsOf("tokens rotate ci"), { typed: "y\n" });
  const declined = await outrigger(wordsOf("tokens rotate ci"), { typed: "\n" });

  assert.equal(made.stdout, "sky_outrigger_secret\n");
  assert.match(
    made.stderr,
    /not shown again. It does not expire.\nTo use it: export OUTRIGGER_TOKEN/,
  );
  assert.ok(!made.stderr.includes("sky_outrigger_secret"));
  assert.partialDeepStrictEqual(control.to(`POST ${tokens}`)[0]?.body, {
    ...{ token_name: "ci", role: "viewer", expires_in_days: 30 },
  });
  assert.equal(rotated.stdout, "sky_outrigger_secret\n");
  assert.equal(declined.code, 1);
  const asked = control.to(`POST ${tokens}/rotate`).map(({ body }) => body);
  assert.equal(asked.length, 1);
  assert.partialDeepStrictEqual(asked[0], { token_id: "t1", expires_in_days: null });
});

test("tokens are listed, given a role and deleted by name", async (t) => {
  const { control, outrigger } = await bed(t);

  const listed = await outrigger(wordsOf("tokens list"));
  const role = await outrigger(wordsOf("tokens role ci"));
  await outrigger(wordsOf("tokens role ci viewer"));
  const deleted = await outrigger(wordsOf("tokens delete -y ci"));
  const unknown = await outrigger(wordsOf("tokens role cj"));

  assert.match(listed.stdout, /^NAME +ROLE .*\nci +user +ana .* 1970-01-02$/m);
  assert.equal(role.stdout, "user\n");
  const changes = control.to(`POST ${tokens}/update-role`).map(({ body }) => body);
  assert.partialDeepStrictEqual(changes, [{ token_id: "t1", role: "viewer" }]);
  assert.equal(deleted.code, 0, deleted.stderr);
  assert.partialDeepStrictEqual(control.to(`POST ${tokens}/delete`)[0]?.body, { token_id: "t1" });
  assert.equal(unknown.code, 3);
});
