import type { Figure } from "./figures.ts";
import type { Form, Lab } from "./lab.ts";
import { settledMib } from "./measure.ts";

/** The memory of a control plane that nobody uses. */
export async function controlMemory(lab: Lab): Promise<Figure[]> {
  const forms: Form[] = ["bundle", "source"];
  // The first start from source compiles; the memory of that one is not what users see.
  await (await lab.control("source")).stop();
  const measured = await Promise.all(
    forms.map(async (form) => settledMib((await lab.control(form)).pid, lab.signal)),
  );
  return forms.map((form, index) => ({
    what: `control idle, from ${form}`,
    measured: measured[index] ?? Number.NaN,
    unit: "MiB",
    target: { atMost: 120 },
  }));
}
