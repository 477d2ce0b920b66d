import { randomUUID } from "node:crypto";
import { maxHeaderSize } from "node:http";
import type { AddressInfo } from "node:net";
import fastify, { type FastifyInstance, type FastifyRequest, type RouteOptions } from "fastify";
import { AppError, errorCodeOf, fail, toAppError } from "../../common/errors.ts";
import { type InputOf, type Operation, routeOf } from "../../common/operation.ts";
import { product } from "../../common/product.ts";
import { challengeTo } from "../access/bearer.ts";
import { cookieOf, loginCookie, sessionSecretOf } from "../access/cookies.ts";
import type { Identity } from "../access/identity.ts";
import { openMismatches } from "../audit/mismatch.ts";
import { type Bound, bindUnbuilt } from "../bind.ts";
import type { Config } from "../config.ts";
import type { Context } from "../context.ts";
import type { Caller } from "../requests/run.ts";
import {
  clientVersionOf,
  isExistingClient,
  requestIdHeaders,
  versionHeaders,
  versionMismatch,
} from "../wire/versions.ts";
import { readerOf } from "../wire/wording.ts";
import { openAdmission, wantsPage } from "./admission.ts";
import { answers } from "./answers.ts";
import { bodyLimitBytes, openBodyMemory, watchBodies } from "./bodies.ts";
import { limitConnections } from "./connections.ts";
import { sendEncoded, sendError, sendSentence } from "./errors.ts";
import { invalidInput, readInput } from "./input.ts";
import { parseJson } from "./json.ts";
import { createListener, startRenewals } from "./listener.ts";
import { addPages } from "./site.ts";
import { answerUnknown } from "./unknown.ts";
import { refuseTunnels, refuseUnreadable } from "./unreadable.ts";
import { routeUpgrades, shouldUpgrade } from "./upgrades.ts";

/** Longer than clients pool connections, so that ours is not the side that closes first. */
const keepAliveMs = 75_000;
/** How often Node.js looks for heads that are late. */
const checkEveryMs = 5_000;

const securityHeaders = {
  "x-content-type-options": "nosniff",
  "x-frame-options": "SAMEORIGIN",
  "referrer-policy": "strict-origin-when-cross-origin",
};

/** Source: RFC 6797; a year. */
const httpsOnly = { "strict-transport-security": "max-age=31536000" };

const usualHeaders = ({ tlsCertFile }: Config) => ({
  ...versionHeaders,
  ...securityHeaders,
  ...(tlsCertFile !== undefined && httpsOnly),
});

/** The HTTP API: a route a row, bound or not; a row without code refuses each call. */
export function buildServer(
  ctx: Context,
  rows: readonly Operation[],
  operations: readonly Bound[],
): FastifyInstance {
  const headMs = ctx.config.headSeconds * 1_000;
  const http = {
    keepAliveTimeout: keepAliveMs,
    requestTimeout: 0,
    headersTimeout: headMs,
    connectionsCheckingInterval: Math.min(headMs, checkEveryMs),
    shouldUpgradeCallback: shouldUpgrade,
  };
  const usual = usualHeaders(ctx.config);
  const app = fastify({
    bodyLimit: bodyLimitBytes,
    serverFactory: (listener) => createListener(ctx.config, http, listener),
    forceCloseConnections: true,
    exposeHeadRoutes: false,
    genReqId: () => randomUUID(),
    frameworkErrors: (error, req, reply) => {
      reply.headers(usual).headers(requestIdHeaders(req.id));
      sendError(reply, new AppError("ValueError", error.message), ctx.log);
    },
    clientErrorHandler: refuseUnreadable(ctx),
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: maxHeaderSize },
  });
  app.addHttpMethod("GET", { hasBody: true, overrideExisting: true });
  readBodies(app);
  const connections = limitConnections(app.server, ctx.config);
  watchBodies(app.server, ctx.config);
  const hasRoomFor = openBodyMemory(ctx.config);
  refuseTunnels(app.server);
  const admission = openAdmission(app, ctx, connections);
  const answerUnknownTo = answerUnknown(rows);
  app.addHook("onRequest", async (req, reply) => {
    reply.headers(usual).headers(requestIdHeaders(req.id));
    await admission.admit(req, reply);
    if (reply.sent) return reply;
    // Before its body is read: what is wrong with that makes no difference here.
    if (req.is404) return answerUnknownTo(req, reply);
    if (!takes(req).json && !takes(req).bytes) delete req.headers["content-type"];
    const mismatch = versionMismatch(clientVersionOf(req.headers));
    if (mismatch !== undefined) return reply.code(400).send(mismatch);
    if (!takes(req).bytes && !hasRoomFor(req.raw))
      return reply.code(503).header("retry-after", "1").send({ detail: tooManyBodies });
  });
  app.addHook("onSend", ({ raw, headers }, reply, _payload, done) => {
    if (reply.statusCode === 401) reply.header("www-authenticate", challengeTo(headers));
    // What is left of a body that was given up would be taken for the next request.
    if (raw.destroyed && !raw.complete) reply.header("connection", "close");
    done();
  });
  app.setErrorHandler((error, req, reply) => sendError(reply, ofFastify(error, req), ctx.log));
  if (ctx.config.tlsCertFile !== undefined) {
    const renewals = startRenewals(ctx, app.server);
    app.addHook("preClose", () => renewals.stop());
  }
  const bound = new Map(operations.map((operation) => [operation.row, operation]));
  const noteMismatch = openMismatches(ctx);
  for (const row of rows) addRoute(app, ctx, bound.get(row) ?? bindUnbuilt(row), noteMismatch);
  addPages(app, rows, (row) => bound.has(row));
  routeUpgrades(app);
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
      `port ${port} of ${host} is taken; stop what listens there, or name another one: ${product.word} api start --port N`,
    );
  });
  return { host, port: (app.server.address() as AddressInfo).port };
}

/** JSON where a row has a JSON body, the bytes where it wants them; a body for any other row is dropped. */
function readBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "string" }, (req, text, done) => {
    try {
      done(null, takes(req).json ? parseJson(text as string) : undefined);
    } catch (error) {
      done(toAppError(error));
    }
  });
  app.addContentTypeParser("*", (req, payload, done) => {
    if (takes(req).bytes) return done(null, payload);
    payload.resume();
    if (takes(req).json) done(noJson(req));
    else done(null, undefined);
  });
}

interface Takes {
  readonly json: boolean;
  readonly bytes: boolean;
}

declare module "fastify" {
  interface FastifyContextConfig extends Partial<Takes> {}
}

const takes = ({ routeOptions: { config } }: FastifyRequest): Takes => ({
  json: config.json === true,
  bytes: config.bytes === true,
});

function noJson({ headers }: FastifyRequest): AppError {
  const type = headers["content-type"];
  const not = type ? `, not ${type}` : "";
  const msg = `send JSON with content-type: application/json${not}`;
  return invalidInput([{ loc: ["body"], msg, type: "json_type" }]);
}

function addRoute(
  app: FastifyInstance,
  ctx: Context,
  bound: Bound,
  noteMismatch: ReturnType<typeof openMismatches>,
): void {
  const { row } = bound;
  const { method, path } = routeOf(row);
  const url = path.replace("{full_path}", "*").replace(/\{(\w+)\}/g, ":$1");
  const { body, rawBody } = row.input;
  const route: RouteOptions = {
    method,
    url,
    config: { row, json: body !== undefined, bytes: rawBody !== undefined },
    async handler(req, reply) {
      const input = readInput(row, req);
      const caller = callerOf(req, input);
      const { id: requestId, identity, from: address } = req;
      await noteMismatch({ row, input, identity, address, requestId });
      const answer = answers[row.mode]({ ctx, bound, input, caller, req, reply });
      if (row.encodesErrors) return answer.catch((error) => sendEncoded(reply, error));
      if (row.printsErrors && isExistingClient(req.headers))
        return answer.catch((error) => sendSentence(reply, error));
      return answer;
    },
  };
  app.route(route);
  if (url.endsWith("/*")) app.route({ ...route, url: url.slice(0, -2) });
}

/** A caller of an open operation who did not log in. */
const nobody: Identity = {
  user: { id: "", name: "somebody" },
  role: "viewer",
  workspaces: [],
  credential: "",
};

/** What of a caller is known before its input says where it wants to work. */
function callerOf(req: FastifyRequest, input: InputOf<Operation>): Omit<Caller, "workspace"> {
  const { entrypoint_command: command = "" } = (input ?? {}) as { entrypoint_command?: string };
  const { identity = nobody, from, headers } = req;
  const origin = {
    ...{ address: from, site: () => req.site, session: sessionSecretOf(headers) },
    ...{ login: cookieOf(headers, loginCookie), wantsPage: wantsPage(req) },
  };
  return { identity, origin, command, ...readerOf(headers) };
}

/** Fastify's own errors as ours. */
function ofFastify(error: unknown, req: FastifyRequest): AppError {
  const code = errorCodeOf(error);
  if (code === "ECONNRESET" && !req.raw.complete)
    return new AppError("RequestCancelled", "the client hung up before its body was whole");
  if (code === "FST_ERR_CTP_BODY_TOO_LARGE")
    return new AppError("TooLargeError", `the body is larger than ${bodyLimitBytes} bytes`);
  if (code === "FST_ERR_CTP_INVALID_MEDIA_TYPE") return noJson(req);
  if (code?.startsWith("FST_ERR_CTP") && error instanceof Error)
    return invalidInput([{ loc: ["body"], msg: error.message, type: "body_invalid" }]);
  return toAppError(error);
}
