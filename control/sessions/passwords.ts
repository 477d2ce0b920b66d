import { errorTypes, fail, toAppError } from "../../common/errors.ts";
import { readAll } from "../../common/limited.ts";
import { retryAfterOf } from "../../common/rate-limit.ts";
import type { Call, RawBody, Reply } from "../bind.ts";
import type { Ground } from "../ground.ts";
import type { Account } from "../users/schema.ts";
import { checkPassword } from "./check-password.ts";
import { loginForm } from "./login-page.ts";
import { originOf } from "./page.ts";
import { welcome } from "./welcome.ts";

const formBytes = 16 * 1024;

/** Logs in who sends the form; shows it again, with the reason, where that fails. */
export async function logIn(ctx: Ground, _input: unknown, call: Call): Promise<Reply> {
  const fields = await readForm(call.body);
  const [name, password, next] = ["name", "password", "next"].map(
    (field) => fields.get(field) ?? "",
  );
  const attempt = { name: name ?? "", next: next ?? "" };
  let user: Account;
  try {
    if (!ctx.config.login.includes("password"))
      fail("NotSupportedError", "password login is not enabled here");
    const { address } = originOf(call);
    user = await checkPassword(ctx, { name: attempt.name, password: password ?? "", address });
  } catch (error) {
    const { type, message, details } = toAppError(error);
    if (type === "InternalError") throw error;
    const retryAfter = retryAfterOf({ details });
    return loginForm(ctx, {
      ...attempt,
      problem: message,
      status: errorTypes[type].http,
      ...(retryAfter !== undefined && { headers: { "retry-after": retryAfter } }),
    });
  }
  return welcome(ctx, call, { user, method: "password", next: attempt.next });
}

async function readForm(body: RawBody | null): Promise<URLSearchParams> {
  if (body === null) return new URLSearchParams();
  const form = await readAll(body.stream, formBytes, () =>
    fail("TooLargeError", "a login takes a name and a password only"),
  );
  return new URLSearchParams(form.toString("utf8"));
}
