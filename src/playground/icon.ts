/**
 * The playground's icon.
 *
 * @module
 */

/** A tray with an arrow into it; SVG. */
export const icon = `\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">\
<rect width="32" height="32" rx="7" fill="#2f5d50"/>\
<path d="M16 6v11m-5-5 5 5 5-5M7 18v6h18v-6" fill="none" stroke="#fff" stroke-width="2.6" \
stroke-linecap="round" stroke-linejoin="round"/></svg>
`;
