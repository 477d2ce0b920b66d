const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** Text as it may stand in HTML, within quotes too. */
export const safe = (text: string): string =>
  text.replace(/[&<>"]/g, (sign) => entities[sign] ?? sign);
