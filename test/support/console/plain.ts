import type { Markup } from "../../../src/http/markup.ts";

const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', "#39": "'", amp: "&" };

/** Returns the text of a piece of markup on one line. */
export function plain({ text }: Markup): string {
  return text.replaceAll(/<\/?(?:li|ul|br|p|details|summary|pre)\b[^>]*>/g, " ").replaceAll(/<[^>]*>/g, "")
    .replaceAll(/&(lt|gt|quot|#39|amp);/g, (_, name) => entities[name] ?? "").replaceAll(/\s+/g, " ").trim();
}
