import type { FastifyInstance } from "fastify";
import type { Operation } from "../../common/operation.ts";
import { openApiDocument } from "./openapi.ts";
import { docsPage } from "./pages.ts";

/** What the API says of itself: `/openapi.json` for programs, `/docs` for people. */
export function addPages(app: FastifyInstance, rows: readonly Operation[]): void {
  let document: object | undefined;
  const read = () => {
    document ??= openApiDocument(rows);
    return document;
  };
  app.get("/openapi.json", async () => read());
  app.get("/docs", async (_req, reply) => {
    reply.type("text/html; charset=utf-8");
    return docsPage(read());
  });
}
