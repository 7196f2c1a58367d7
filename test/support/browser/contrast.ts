/** Measures contrast as WCAG defines it. */

/// <reference lib="dom" />

/** Returns the visible texts with a contrast below WCAG's 4.5. Runs in the page. */
export function faintTexts(): string[] {
  const canvas = document.createElement("canvas").getContext("2d", {
    willReadFrequently: true,
  }) as CanvasRenderingContext2D;
  const rgb = (colours: readonly string[]) => {
    canvas.clearRect(0, 0, 1, 1);
    for (const colour of colours) {
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
    }
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const luminance = (channels: readonly number[]) => {
    const [r = 0, g = 0, b = 0] = channels.map((channel) => {
      const part = channel / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const found = new Set<string>();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const element = node.parentElement as HTMLElement;
    if (node.textContent?.trim() === "" || element.closest("[hidden], textarea, option") !== null) continue;
    if (element.offsetParent === null) continue;
    const grounds: string[] = [];
    for (let at: HTMLElement | null = element; at !== null; at = at.parentElement) {
      grounds.unshift(getComputedStyle(at).backgroundColor);
    }
    const ground = rgb(grounds);
    const ink = rgb([...grounds, getComputedStyle(element).color]);
    const [light = 0, dark = 0] = [luminance(ground), luminance(ink)].sort((a, b) => b - a);
    const contrast = (light + 0.05) / (dark + 0.05);
    if (contrast < 4.5) found.add(`${node.textContent?.trim().slice(0, 30)}: ${contrast.toFixed(2)}`);
  }
  return [...found];
}
