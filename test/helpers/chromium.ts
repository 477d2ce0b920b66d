import { existsSync } from "node:fs";
import AxeBuilder from "@axe-core/playwright";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";

const program = "/usr/bin/chromium";

/** Why there is no browser here; false where there is one. */
export const whyNoChromium = (): string | false =>
  !existsSync(program) && "chromium is not installed";

interface Cleaner {
  after(clean: () => Promise<void>): void;
}

/** A browser that has no cookies yet. */
export async function startChromium(t: Cleaner): Promise<BrowserContext> {
  const browser: Browser = await chromium.launch({
    executablePath: program,
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
    timeout: 120_000,
  });
  t.after(() => browser.close());
  const context = await browser.newContext();
  context.setDefaultTimeout(30_000);
  return context;
}

/** What keeps people from using a page: the rules of axe that it breaks, and where. */
export async function barriersOf(page: Page): Promise<string[]> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}
