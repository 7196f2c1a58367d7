/**
 * Generates fictional people and their requests, reproducibly from a seed. Phone numbers are in the reserved range 555-0100 to
 * 555-0199, and email addresses use example domains, so none belongs to a real person.
 */

export class SeededRandom {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** Returns a number in [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  integerBelow(count: number): number {
    return Math.floor(this.next() * count);
  }

  pick<T>(items: readonly T[]): T {
    return items[this.integerBelow(items.length)] as T;
  }

  /** Returns a random integer whose expected value is `mean`. */
  integerAround(mean: number): number {
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
  "Second floor of a 1924 house; the first quote seemed high.",
  "Storm damage; our insurance company has the photos.",
];

/** Returns a provider's lead. */
export function randomLead(random: SeededRandom, areas: readonly string[]): Record<string, unknown> {
  const [city, state, zip, code] = random.pick(places);
  const [first, last] = [random.pick(firstNames), random.pick(lastNames)];
  const line = String(100 + random.integerBelow(100)).padStart(4, "0");
  const phone = random.next() < 0.03 ? "ask for extension 12" : `(${code}) 555-${line}`;
  return {
    first_name: first,
    last_name: last,
    phone,
    ...(random.next() < 0.8
      ? { email: `${first}.${last}${random.integerBelow(1000)}@example.com`.toLowerCase() }
      : {}),
    ...(random.next() < 0.7 ? { street_address: `${1 + random.integerBelow(9900)} Example Street` } : {}),
    city,
    state,
    zip,
    project_area: random.next() < 0.04
      ? random.pick(["wine cellar", "gazebo", "tree house"])
      : random.pick(areas),
    project_service: random.pick(services),
    ...(random.next() < 0.4 ? { project_details: random.pick(details) } : {}),
    cost: 15 + random.integerBelow(60) + 0.5 * random.integerBelow(2),
    external_id: String(100_000 + random.integerBelow(900_000)),
  };
}

/** Returns a form submission, usually from a customer, sometimes from a salesperson or a bot. */
export function randomForm(random: SeededRandom): Record<string, unknown> {
  const [first, last] = [random.pick(firstNames), random.pick(lastNames)];
  const pageUrl = `https://www.example.com/contact?utm_source=${
    random.pick(["newsletter", "search", "leaflet"])
  }`;
  const kind = random.next();
  const person = { name: `${first} ${last}`, email: `${first}@example.com`.toLowerCase(), page_url: pageUrl };
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
    phone: `(503) 555-01${10 + random.integerBelow(89)}`,
    message: `${random.pick(details)} Could you have a look?`,
  };
}
