import { randomUUID } from "node:crypto";
import type { AddressInfo } from "node:net";
import fastify, { type FastifyInstance, type FastifyRequest } from "fastify";
import { AppError, errorCodeOf, fail, toAppError } from "../../common/errors.ts";
import type { InputOf, Operation } from "../../common/operation.ts";
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
import { plainTarget, routesOf } from "./routes.ts";
import { addPages, isPage } from "./site.ts";
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
    rewriteUrl: ({ url = "/" }) => plainTarget(url),
    routerOptions: { ignoreTrailingSlash: true },
  });
  app.addHttpMethod("GET", { hasBody: true, overrideExisting: true });
  readBodies(app);
  const connections = limitConnections(app.server, ctx.config);
  watchBodies(app.server, ctx.config);
  const hasRoomFor = openBodyMemory(ctx.config);
  refuseTunnels(app.server);
  const admission = openAdmission(app, ctx, connections);
  const routes = routesOf(rows);
  app.decorateRequest("route", undefined);
  app.addHook("onRequest", async (req, reply) => {
    reply.headers(usual).headers(requestIdHeaders(req.id));
    req.route = routes.find(req.method, req.url);
    await admission.admit(req, reply);
    if (reply.sent) return reply;
    // Before its body is read: what is wrong with that makes no difference here.
    if (req.route === undefined && !isPage(req.routeOptions.url ?? ""))
      return answerUnknown(routes, req, reply);
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
  serveRows(app, ctx, (row) => bound.get(row) ?? bindUnbuilt(row));
  addPages(app, rows, (row) => bound.has(row));
  routeUpgrades(app);
  return app;
}

const tooManyBodies =
  "too many large requests are being uploaded to control; try again in a second";

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

/** What kind of body the row of a request takes. */
function takes({ route }: FastifyRequest): { readonly json: boolean; readonly bytes: boolean } {
  const { body, rawBody } = route?.row.input ?? {};
  return { json: body !== undefined, bytes: rawBody !== undefined };
}

function noJson({ headers }: FastifyRequest): AppError {
  const type = headers["content-type"];
  const not = type ? `, not ${type}` : "";
  const msg = `send JSON with content-type: application/json${not}`;
  return invalidInput([{ loc: ["body"], msg, type: "json_type" }]);
}

/** One route of Fastify for all rows: which of them is called the hook has found. */
function serveRows(app: FastifyInstance, ctx: Context, boundOf: (row: Operation) => Bound): void {
  const noteMismatch = openMismatches(ctx);
  app.all("*", async (req, reply) => {
    const { id: requestId, identity, from: address, route } = req;
    if (route === undefined) fail("NotFoundError", `there is no ${req.url}`);
    const { row } = route;
    const input = readInput(row, req);
    const caller = callerOf(req, input);
    await noteMismatch({ row, input, identity, address, requestId });
    const answer = answers[row.mode]({ ctx, bound: boundOf(row), input, caller, req, reply });
    if (row.encodesErrors) return answer.catch((error) => sendEncoded(reply, error));
    if (row.printsErrors && isExistingClient(req.headers))
      return answer.catch((error) => sendSentence(reply, error));
    return answer;
  });
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
    return new AppError(
      "RequestCancelled",
      "the client disconnected before it sent the whole body",
    );
  if (code === "FST_ERR_CTP_BODY_TOO_LARGE")
    return new AppError("TooLargeError", `the body is larger than ${bodyLimitBytes} bytes`);
  if (code === "FST_ERR_CTP_INVALID_MEDIA_TYPE") return noJson(req);
  if (code?.startsWith("FST_ERR_CTP") && error instanceof Error)
    return invalidInput([{ loc: ["body"], msg: error.message, type: "body_invalid" }]);
  return toAppError(error);
}
