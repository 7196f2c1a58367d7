/**
 * Invented people and their requests, reproducible from a seed. Names are historical, phone numbers use the 555 exchange,
 * and addresses use example domains, so that none belongs to a real person.
 */

/** A seeded random generator. */
export class Luck {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** In [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)] as T;
  }

  /** A random integer with this mean. */
  about(mean: number): number {
    return Math.floor(mean) + (this.next() < mean % 1 ? 1 : 0);
  }
}

const firstNames =
  "Ada Grace Alan Edsger Barbara Donald Radia Leslie Frances Ken Jean Niklaus Mary Claude Hedy Tim".split(
    " ",
  );
const lastNames =
  "Lovelace Hopper Turing Dijkstra Liskov Knuth Perlman Lamport Allen Thompson Bartik Wirth Jackson Shannon Lamarr Berners"
    .split(" ");
const places = [
  ["Portland", "OR", "97201", "503"],
  ["Salem", "OR", "97301", "503"],
  ["Seattle", "WA", "98101", "206"],
  ["Tacoma", "WA", "98402", "253"],
  ["Boise", "ID", "83702", "208"],
] as const;
const services = ["replacement", "repair", "remodel", "maintain"] as const;
const details = [
  "There is a leak above the stairs, and it gets worse with every rain.",
  "We would like to have it done before the holidays.\nPlease call in the evening.",
  "Second floor of a house of 1924; the first offer seemed high.",
  "Storm damage, the insurance has the pictures.",
];

/** A provider's lead. */
export function inventLead(luck: Luck, areas: readonly string[]): Record<string, unknown> {
  const [city, state, zip, code] = luck.pick(places);
  const [first, last] = [luck.pick(firstNames), luck.pick(lastNames)];
  const line = String(100 + luck.below(100)).padStart(4, "0");
  const phone = luck.next() < 0.03 ? "ask for extension 12" : `(${code}) 555-${line}`;
  return {
    first_name: first,
    last_name: last,
    phone,
    ...(luck.next() < 0.8 ? { email: `${first}.${last}${luck.below(1000)}@example.com`.toLowerCase() } : {}),
    ...(luck.next() < 0.7 ? { street_address: `${1 + luck.below(9900)} Example Street` } : {}),
    ...{ city, state, zip },
    project_area: luck.next() < 0.04 ? luck.pick(["wine cellar", "gazebo", "tree house"]) : luck.pick(areas),
    project_service: luck.pick(services),
    ...(luck.next() < 0.4 ? { project_details: luck.pick(details) } : {}),
    cost: 15 + luck.below(60) + 0.5 * luck.below(2),
    external_id: String(100_000 + luck.below(900_000)),
  };
}

/** A form submission: mostly from a customer, sometimes from a salesperson or a bot. */
export function inventForm(luck: Luck): Record<string, unknown> {
  const [first, last] = [luck.pick(firstNames), luck.pick(lastNames)];
  const from = `https://www.example.com/contact?utm_source=${luck.pick(["newsletter", "search", "leaflet"])}`;
  const kind = luck.next();
  const person = { name: `${first} ${last}`, email: `${first}@example.com`.toLowerCase(), page_url: from };
  if (kind < 0.14) {
    return {
      ...person,
      message: "Dear sir, we offer SEO services, guaranteed first page on Google, 500 backlinks for $99. " +
        "Visit https://seo.example/ and https://links.example/ and reply for a free quote!!!",
    };
  }
  if (kind < 0.2) return { ...person, message: "hello", website: "https://bot.example/" };
  return {
    ...person,
    phone: `(503) 555-01${10 + luck.below(89)}`,
    message: `${luck.pick(details)} Could you have a look?`,
  };
}
