/**
 * A flame graph: a box a function, above the one that called it, as wide as the time spent in it. An SVG that needs
 * nothing else; each box says its name and its share when it is pointed at.
 *
 * @module
 */

import { escapeXml } from "../draw/xml.ts";
import { type Stack, totalOf } from "./stacks.ts";

const width = 1_400;
const rowHeight = 17;
const headHeight = 30;
/** Of a letter, about; the text is cut to its box. */
const letterWidth = 6.4;
/** Narrower boxes are left out, and those above them. */
const narrowest = 0.5;

/** A function where it was called, and what it called. */
interface Box {
  readonly name: string;
  weight: number;
  readonly above: Map<string, Box>;
}

function pile(stacks: readonly Stack[]): Box {
  const root: Box = { name: "all", weight: 0, above: new Map() };
  for (const { frames, weight } of stacks) {
    root.weight += weight;
    let box = root;
    for (const name of frames) {
      let next = box.above.get(name);
      if (next === undefined) {
        next = { name, weight: 0, above: new Map() };
        box.above.set(name, next);
      }
      next.weight += weight;
      box = next;
    }
  }
  return root;
}

/** Warm colours; the same name has the same one, so that two graphs can be compared. */
function colourOf(name: string): string {
  let mixed = 0;
  for (const character of name) mixed = (mixed * 31 + (character.codePointAt(0) ?? 0)) >>> 0;
  return `hsl(${mixed % 50} 85% ${68 + mixed % 13}%)`;
}

/** Draws it. */
export function renderFlame(title: string, stacks: readonly Stack[]): string {
  const total = totalOf(stacks);
  const boxes: string[] = [];
  let levels = 0;
  const draw = (box: Box, x: number, level: number): void => {
    const boxWidth = box.weight / total * width;
    if (!(boxWidth >= narrowest)) return;
    levels = Math.max(levels, level + 1);
    const share = (box.weight / total * 100).toFixed(1);
    const letters = Math.floor((boxWidth - 4) / letterWidth);
    const name = box.name.length <= letters
      ? box.name
      : letters < 3
      ? ""
      : `${box.name.slice(0, letters - 1)}…`;
    const y = -(level + 1) * rowHeight;
    boxes.push(
      `<g><title>${escapeXml(box.name)}: ${share} %</title>` +
        `<rect x="${x.toFixed(1)}" y="${y}" width="${boxWidth.toFixed(1)}" height="${rowHeight - 1}" ` +
        `fill="${colourOf(box.name)}"/>` +
        (name === "" ? "" : `<text x="${(x + 2).toFixed(1)}" y="${y + 12}">${escapeXml(name)}</text>`) +
        "</g>",
    );
    let at = x;
    for (const above of [...box.above.values()].sort((a, b) => a.name < b.name ? -1 : 1)) {
      draw(above, at, level + 1);
      at += above.weight / total * width;
    }
  };
  draw(pile(stacks), 0, 0);
  const height = headHeight + levels * rowHeight;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="monospace" font-size="11">
<style>.head { font: 15px sans-serif } .page { fill: #fff } @media (prefers-color-scheme: dark) { .page { fill: #15181c } .head { fill: #e8e8e8 } }</style>
<rect class="page" width="${width}" height="${height}"/>
<text class="head" x="6" y="20">${escapeXml(title)}</text>
<g transform="translate(0 ${height})">
${boxes.join("\n")}
</g>
</svg>
`;
}
