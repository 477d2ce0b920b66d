import type { TestContext } from "node:test";
import { type GivenInputOf, type Operation, toHttpCall } from "../../common/operation.ts";
import type { Config } from "../../control/config.ts";
import type { Account } from "../../control/users/schema.ts";
import { addCaller, anAccount } from "./users.ts";
import { testWorld, type World } from "./world.ts";

export interface Answered {
  readonly status: number;
  /** The answer, or the message of an error. */
  readonly json: never;
  readonly detail: string;
}

/** Calls of a row by one user. */
type Caller = <Op extends Operation>(row: Op, input: GivenInputOf<Op>) => Promise<Answered>;

export interface Callers {
  readonly world: World;
  /** A user who is made with these facts, and calls with a token. */
  as(given: Partial<Account> & { readonly name: string }): Promise<Caller>;
  /** Calls with this secret. */
  with(secret: string): Caller;
}

/** A control plane where people log in, and calls of users of it. */
export async function callers(t: TestContext, config: Partial<Config> = {}): Promise<Callers> {
  const world = await testWorld(t, { config: { login: ["password"], ...config } });

  const by =
    (authorization: string): Caller =>
    async (row, input) => {
      const { method, path, body } = toHttpCall(row, input as Record<string, unknown>);
      const answer = await world.http(method, path, { body, headers: { authorization } });
      const json = JSON.parse(answer.text) as never;
      const { detail = "" } = (json ?? {}) as { detail?: string };
      return { status: answer.status, json, detail };
    };

  return {
    world,
    as: async (given) => by((await addCaller(world.ctx, anAccount(given))).authorization),
    with: (secret) => by(`Bearer ${secret}`),
  };
}
