import type { FastifyReply, FastifyRequest } from "fastify";
import type { Routes } from "./routes.ts";
import { isPage } from "./site.ts";

/** Answers what no row fits: 405 where the path takes other methods, 404 otherwise. */
export function answerUnknown(
  routes: Routes,
  { method, url }: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const [path = ""] = url.split("?");
  const methods = isPage(path) ? ["GET"] : routes.methodsOf(path);
  if (methods.length === 0) {
    const detail = `there is no ${method} ${path}; /docs lists what there is`;
    return reply.code(404).send({ detail, type: "NotFoundError" });
  }
  const allowed = methods.join(", ");
  const detail = `${path} takes ${allowed}, not ${method}`;
  return reply.code(405).header("allow", allowed).send({ detail, type: "NotSupportedError" });
}
