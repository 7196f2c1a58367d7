/** Recognizes the disclosures and terms that a site adds to a submission. This module is browser compatible. */

/** What disclosures say: consent, policies, messages and calls, and conditions, in the languages of forms. */
const markers: readonly RegExp[] = [
  /\b(agree|consent|accept|authori[sz]e|acknowledge|permission|opt(ing)?[ -]?(in|out))|\bby (clicking|checking|submitting|providing|signing|pressing|completing|sending)|\b(have|has) read\b|\b(acepto|autorizo|consiento|he le[ií]do|al (enviar|hacer clic|marcar|presionar))\b|j['’](accepte|autorise|ai lu)|je (consens|certifie)|en (cliquant|soumettant|envoyant|cochant)|einwillig|einverstanden|stimme\b.{0,80}\bzu\b|gelesen|\b(accetto|acconsento|autorizzo|ho letto|aceito|concordo|autorizo)\b|akkoord|toestemming|gelezen|wyrażam zgodę|akceptuję|godkänner|samtycker/i,
  /privacy|\bterms\b|\bT ?& ?Cs?\b|\bpolic(y|ies)\b|\b(terms|conditions) of\b|disclaimer|\bGDPR\b|\bTCPA\b|privacidad|t[eé]rminos|confidentialit[eé]|conditions (d['’]utilisation|g[eé]n[eé]rales)|renseignements personnels|datenschutz|\bDSGVO\b|\bAGB\b|nutzungsbedingungen|privacidade|\btermos\b|\bLGPD\b|privacyverklaring|voorwaarden|prywatności|regulamin|\bRODO\b|integritet|villkor/i,
  /\b(sms|mms|text(s|ed)? (me|you|message|alert)|text messag|autodial|auto-dial|automated|automatic telephone|pre-?recorded|artificial voice|do[ -]not[ -]call)|\b(calls?|texts?|emails?)( messages?)?(,? (and|or|and\/or) (calls?|texts?|emails?))|\bmensajes? de texto|\bllamadas\b|marcaci[oó]n|\btextos?\b.{0,30}\bllamadas|messages? textes?|\btextos\b|\bappels\b/i,
  /\b(msg|message)s? (&|and|frequency)|data rates|\brates may apply|carrier|\breply (with )?(stop|help|yes)\b|\b(text|send) (stop|help)\b|\bstop (to|at) |\bunsubscribe\b|frecuencia|tarifas de (mensajes|datos)|responda (stop|alto|baja|cancelar)|r[eé]pondez (stop|arr[eê]t)|d[eé]sabonn|frais (de )?(messagerie|standard)/i,
  /condition (of|for) (any |a )?(purchase|service|buying)|not (required|a condition)|attorney[- ]client|does not (create|constitute|guarantee)|condici[oó]n (de|para)|condition d['’]achat/i,
];

const sentenceEnds = /(?<=[.!?…])\s+|\n+/;
/** The maximum length of a sentence that is examined. */
const sentenceMax = 1_500;

/** The minimum length of what comes before the words of a disclosure, for it to be the visitor's. */
const leadMin = 40;

/**
 * Splits a text into the visitor's sentences and those of the site's disclosures. A disclosure has a sentence that says two of the
 * things that only disclosures combine; its other sentences say one. What comes before these words in a sentence is the visitor's.
 */
export function splitDisclosure(text: string): { readonly own: string; readonly disclosure: string } {
  const sentences = text.split(sentenceEnds).map((sentence) => {
    const start = sentence.slice(0, sentenceMax);
    const places = markers.map((marker) => start.search(marker)).filter((at) => at >= 0);
    return { sentence, count: places.length, from: Math.min(...places) };
  });
  if (!sentences.some(({ count }) => count >= 2)) return { own: text, disclosure: "" };
  const own: string[] = [];
  const disclosure: string[] = [];
  for (const { sentence, count, from } of sentences) {
    const cut = count === 0 ? sentence.length : from >= leadMin ? from : 0;
    own.push(sentence.slice(0, cut));
    disclosure.push(sentence.slice(cut));
  }
  const join = (parts: readonly string[]) => parts.filter((part) => part !== "").join("\n");
  return { own: join(own), disclosure: join(disclosure) };
}
