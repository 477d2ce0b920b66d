import type { FastifyInstance } from "fastify";
import type { Operation } from "../../common/operation.ts";
import { type OpenApiDocument, openApiDocument } from "./openapi.ts";
import { docsPage } from "./pages.ts";

/** What the API says of itself: `/openapi.json` for programs, `/docs` for people. */
export function addPages(app: FastifyInstance, rows: readonly Operation[]): void {
  let document: OpenApiDocument | undefined;
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
