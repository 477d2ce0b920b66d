import { randomUUID } from "node:crypto";
import type { AddressInfo } from "node:net";
import fastify, { type FastifyInstance, type FastifyRequest } from "fastify";
import { AppError, errorCodeOf, fail, toAppError } from "../../common/errors.ts";
import { type InputOf, type Operation, routeOf } from "../../common/operation.ts";
import { envNames, product, readEnv } from "../../common/product.ts";
import { type Bound, bindUnbuilt } from "../bind.ts";
import type { Context } from "../context.ts";
import type { Caller } from "../requests/run.ts";
import { isUserId } from "../requests/schema.ts";
import {
  clientVersionOf,
  requestIdHeaders,
  versionHeaders,
  versionMismatch,
} from "../wire/versions.ts";
import { openAccess } from "./access.ts";
import { answers } from "./answers.ts";
import { bodyLimitBytes, openBodyMemory, watchBodies } from "./bodies.ts";
import { limitConnections } from "./connections.ts";
import { sendEncoded, sendError } from "./errors.ts";
import { invalidInput, readInput } from "./input.ts";
import { parseJson } from "./json.ts";
import { refuseForeignPages } from "./origin.ts";
import { addPages } from "./site.ts";
import { answerUnknown } from "./unknown.ts";

/** Longer than clients pool connections, so that ours is not the side that closes first. */
const keepAliveMs = 75_000;
/** How often Node.js looks for heads that are late. */
const checkEveryMs = 5_000;

const securityHeaders = {
  "x-content-type-options": "nosniff",
  "x-frame-options": "SAMEORIGIN",
  "referrer-policy": "strict-origin-when-cross-origin",
};

const usualHeaders = ({ id }: { id: string }) => ({
  ...versionHeaders,
  ...securityHeaders,
  ...requestIdHeaders(id),
});

/** The HTTP API: a route a row, bound or not; a row without code refuses each call. */
export function buildServer(
  ctx: Context,
  rows: readonly Operation[],
  operations: readonly Bound[],
): FastifyInstance {
  const headMs = ctx.config.headSeconds * 1_000;
  const app = fastify({
    bodyLimit: bodyLimitBytes,
    keepAliveTimeout: keepAliveMs,
    requestTimeout: 0,
    http: { headersTimeout: headMs, connectionsCheckingInterval: Math.min(headMs, checkEveryMs) },
    forceCloseConnections: true,
    exposeHeadRoutes: false,
    genReqId: () => randomUUID(),
    frameworkErrors: (error, req, reply) => {
      reply.headers(usualHeaders(req));
      sendError(reply, new AppError("ValueError", error.message), ctx.log);
    },
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 500 },
  });
  app.addHttpMethod("GET", { hasBody: true, overrideExisting: true });
  readBodies(app);
  limitConnections(app.server, ctx.config);
  watchBodies(app.server, ctx.config);
  const hasRoomFor = openBodyMemory(ctx.config);
  const access = openAccess(ctx.token, app.server);
  app.addHook("onRequest", async (req, reply) => {
    reply.headers(usualHeaders(req));
    refuseForeignPages(req.headers);
    await access.check(req.raw);
    const mismatch = versionMismatch(clientVersionOf(req.headers));
    if (mismatch !== undefined) return reply.code(400).send(mismatch);
    const { rawBody } = req.routeOptions.config as { rawBody?: string };
    if (rawBody === undefined && !hasRoomFor(req.raw))
      return reply.code(503).header("retry-after", "1").send({ detail: tooManyBodies });
  });
  app.setErrorHandler((error, req, reply) => sendError(reply, ofFastify(error, req), ctx.log));
  app.setNotFoundHandler(answerUnknown(rows));
  const bound = new Map(operations.map((operation) => [operation.row, operation]));
  for (const row of rows) addRoute(app, ctx, bound.get(row) ?? bindUnbuilt(row));
  addPages(app, rows);
  return app;
}

const tooManyBodies = "too many large bodies are on their way to control; try again in a second";

/** Listens, and says where; throws `ConflictError` when the port is taken. */
export async function listen(
  app: FastifyInstance,
  { host, port }: { host: string; port: number },
): Promise<{ host: string; port: number }> {
  await app.listen({ host, port }).catch((error: unknown) => {
    if (errorCodeOf(error) !== "EADDRINUSE") throw error;
    fail(
      "ConflictError",
      `port ${port} of ${host} is taken; stop what listens there, or name another one: ${product.word} api start --port N, which clients then find by OUTRIGGER_ENDPOINT=http://${host}:N`,
    );
  });
  return { host, port: (app.server.address() as AddressInfo).port };
}

/** JSON only where a row has a JSON body; anything else reaches a row that wants raw bytes. */
function readBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "string" }, (_req, text, done) => {
    try {
      done(null, parseJson(text as string));
    } catch (error) {
      done(toAppError(error));
    }
  });
  app.addContentTypeParser("*", (req, payload, done) => {
    const { rawBody } = req.routeOptions.config as { rawBody?: string };
    if (rawBody !== undefined) return done(null, payload);
    payload.resume();
    const msg = `send JSON with content-type: application/json, not ${req.headers["content-type"]}`;
    done(invalidInput([{ loc: ["body"], msg, type: "json_type" }]));
  });
}

function addRoute(app: FastifyInstance, ctx: Context, bound: Bound): void {
  const { row } = bound;
  const { method, path } = routeOf(row);
  app.route({
    method,
    url: path.replace(/\{full_path\}/, "*").replace(/\{(\w+)\}/g, ":$1"),
    config: { rawBody: row.input.rawBody },
    async handler(req, reply) {
      const input = readInput(row, req);
      const caller = callerOf(req, input);
      const answer = answers[row.mode]({ ctx, bound, input, caller, req, reply });
      return row.encodesErrors ? answer.catch((error) => sendEncoded(reply, error)) : answer;
    },
  });
}

/** Without a login layer the caller is whom the body's environment says. */
function callerOf(req: FastifyRequest, input: InputOf<Operation>): Caller {
  const { env_vars: env = {}, entrypoint_command: command = "" } = (input ?? {}) as {
    env_vars?: Record<string, string>;
    entrypoint_command?: string;
  };
  const id = readEnv(env, "USER_ID") ?? "local";
  const name = readEnv(env, "USER") ?? id;
  if (!isUserId(id) || !userName.test(name)) refuseCaller();
  return { user: { id, name }, clientApi: clientVersionOf(req.headers) ?? null, command };
}

const userName = /^\P{Cc}{1,256}$/u;

function refuseCaller(): never {
  const [id, name] = ["USER_ID", "USER"].map((suffix) => envNames(suffix)[0]);
  fail(
    "ValueError",
    `env_vars: ${id} takes letters, digits and . _ @ + -, ${name} takes one line of text`,
  );
}

/** Fastify's own errors as ours. */
function ofFastify(error: unknown, { raw }: FastifyRequest): AppError {
  const code = errorCodeOf(error);
  if (code === "ECONNRESET" && !raw.complete)
    return new AppError("RequestCancelled", "the client hung up before its body was whole");
  if (code === "FST_ERR_CTP_BODY_TOO_LARGE")
    return new AppError("TooLargeError", `the body is larger than ${bodyLimitBytes} bytes`);
  if (code?.startsWith("FST_ERR_CTP") && error instanceof Error)
    return invalidInput([{ loc: ["body"], msg: error.message, type: "body_invalid" }]);
  return toAppError(error);
}
