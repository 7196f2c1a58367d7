/**
 * Who does what for whom: sellers say what they do ("we supply", "distribuimos"), what the reader gets ("you
 * only pay"), whom the reader sells to and at which price. This holds for goods and services nobody has
 * thought of. This module is browser compatible.
 *
 * @module
 */

import type { Reading } from "./reading.ts";

const sellers = new Set([
  "we",
  "i",
  "experts",
  "team",
  "agency",
  "company",
  "system",
  "developers",
  "writers",
  "operators",
]);
const between = new Set([
  "can",
  "will",
  "ll",
  "also",
  "now",
  "just",
  "currently",
  "would",
  "re",
  "are",
  "m",
  "am",
  "have",
  "ve",
  "d",
]);
/** What sellers do for others; the verbs of people who want something done are missing on purpose. */
const provides =
  /^(accept|acquir|add|advis|analy|answer|approv|arrang|automat|boost|build|clean|collect|connect|cover|craft|creat|customi|cut|deliver|design|develop|distribut|edit|embroider|engrav|expand|export|film|financ|find|fly|fulfil|fund|generat|grow|guarante|guid|handl|help|host|import|improv|increas|insur|introduc|invit|launch|lend|list|mak|manag|manufactur|market|match|mentor|offer|operat|optimi|partner|photograph|plac|post|print|process|produc|promot|provid|publish|rais|rank|reach|recover|recruit|redesign|remov|render|represent|run|sell|serv|shoot|ship|show|sourc|speciali|speed|staff|stop|submit|suppl|tak|teach|train|transform|translat|turn|verif|wholesal|work|writ)/;
/** Customers do these too, with what is theirs. */
const provideless =
  /^(finding|help|work|working|take|taking|make|find|run|running|add|adding|list|showed|stopped|cover|find|posted|took|made)$/;
const benefits =
  /^(only|pay|sell|keep|qualify|get|save|grow|earn|rank|lose|losing|close|win|receive|deserve|appear|reach|control)$/;
const yours = new Set(
  ("visitors customers clients competitors competition calendar employees staff logo rating ads audience sales profit profits revenue industry " +
    "market brand listing profile niche inbox pipeline bottom readers followers traffic leads domain homepage wallet future wealth profile estimates " +
    "clientes competidores competencia empleados ventas marca anuncios ganancias agenda vida futuro marketing margins growth content blog overhead payroll")
    .split(" "),
);
/** First person plural of verbs that Spanish-speaking customers use. */
const customersPlural = new Set(
  ("queremos necesitamos ocupamos tenemos estamos somos vivimos compramos vamos podemos buscamos quisieramos hablamos llamamos podriamos gustaria " +
    "deseamos vendimos rentamos pagamos hemos habiamos pensamos esperamos vimos tuvimos estabamos eramos mudamos decidimos hicimos fuimos vinimos hablemos ramos tramos extremos " +
    "sabemos debemos pusimos encontramos perdimos recibimos contratamos firmamos quedamos").split(" "),
);
const spanishPlural = /^[a-z]{3,}(amos|emos|imos)$/;
const prices = [
  /\$ ?\d[\d.,]*k? ?(\/|per |a |an |each|al |por |la )(mo|month|hour|hr|week|day|year|lead|call|spot|report|head|state|text|view|user|seat|mes|hora|semana|dia|mensual)/,
  /\b(only|just|from|starting at|as low as|as little as|under|desde|por solo|solo|por) (los )?\$ ?\d/,
  /\d ?% (off|discount|de descuento|menos|roi|return|accuracy|guaranteed|daily)/,
  /\bfree (trial|demo|sample|video|report|audit|month|week|analysis|website|mockup|setup|shipping|delivery|gift|guide|training|spins|consultation|copy|tool|listing|account|preview)/,
  /\d ?(million|millon|millones)\b|\b(usd|eur|usdt)\b|\d euros\b/,
  /\b(act|order|buy|reserve|register|book|call|reply|apply|enroll|join|shop) (now|today|here|yours|by|before)\b/,
];

/** A weight of 0 or more for the grammar of a seller; each sign counts once or twice. */
export function sellerGrammar(reading: Reading): number {
  const found = new Set<string>();
  let weight = 0;
  const count = (sign: string, points: number, times: number) => {
    for (let time = 1; time <= times; time++) {
      if (found.has(`${sign}${time}`)) continue;
      found.add(`${sign}${time}`);
      weight += points;
      return;
    }
  };
  for (const { role, folded, words } of reading) {
    if (role !== "message" && role !== "answer") continue;
    for (let at = 0; at < words.length; at++) {
      const word = words[at] as string;
      const next = words[at + 1] ?? "";
      if (sellers.has(word) && isProvision(words, at + 1)) count("provides", 3, 2);
      else if (word === "you" && benefits.test(next)) count("you", 2, 2);
      else if (
        (word === "your" || word === "su" || word === "sus" || word === "tu" || word === "tus") &&
        yours.has(next)
      ) {
        count("yours", 3, 2);
      } else if (spanishPlural.test(word) && !customersPlural.has(word)) count("provides", 3, 2);
    }
    for (const [index, price] of prices.entries()) if (price.test(folded)) count(`price${index}`, 2, 1);
  }
  return weight;
}

/** `we [can] supply`; not `we need`, and not `we are finding`. */
function isProvision(words: readonly string[], at: number): boolean {
  const [first = "", second = ""] = [words[at], words[at + 1]];
  const verb = between.has(first) ? second : first;
  return provides.test(verb) && !provideless.test(verb) && !/ed$/.test(verb);
}
