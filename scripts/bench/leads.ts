/** Generates realistic leads of 500 to 730 bytes, the same in every run. */

import { SeededRandom } from "../demo/people.ts";

const firstNames = ["Ada", "José", "Grace", "Linus", "Zoë", "Margaret", "Dennis", "Barbara", "Ken"];
const lastNames = ["Lovelace", "García", "Hopper", "Van der Berg", "O'Neill", "Hamilton", "Nguyễn"];
const streets = ["Maple Avenue", "Oak Street", "Old Mill Road", "5th Street NE", "Lakeview Drive"];
const cities = [
  { city: "Austin", state: "TX", zip: "78701" },
  { city: "Boise", state: "ID", zip: "837021234" },
  { city: "Toronto", state: "ON", zip: "m5v 2t6" },
  { city: "Salt Lake City", state: "UT", zip: "84101" },
  { city: "St. Paul", state: "mn", zip: "55102-0001" },
];
const areas = ["roof", "Kitchen", "bathroom", "windows", "siding", "hvac", "crawl space", "deck", "gutters"];
const unknownAreas = ["granny flat", "tool shed", "boat house", "conservatory"];
const services = ["replacement", "repair", "Remodel", "maintain"];
const materials = ["asphalt shingle", "cedar", "vinyl", "fiber cement", "standing seam metal", "oak"];
const sentences = [
  "Water comes in near the chimney when it rains from the west.",
  "We had two quotes already and would like a third one before the end of the month.",
  "The house was built in 1962 and nothing has been done since.",
  "Please call after five, we both work during the day.",
  "There is a dog in the yard; ring at the front door.",
  "Insurance has approved the claim, the adjuster's report is at hand.",
  "Looking for someone who can start in the spring and who knows older homes.",
  "Roughly 40 by 25 feet, two storeys, easy access from the driveway.",
];
const phones = ["(512) 555-01##", "+1 208 555 01##", "416.555.01##", "801-555-01##", "16515550 1##"];

/**
 * Generates `count` request bodies. Half have a cost, a tenth have unknown fields, 3 % an area outside the vocabulary
 * and 2 % a foreign phone number.
 */
export function makeBodies(count: number): string[] {
  const random = new SeededRandom(20_260_824);
  const makeBody = (index: number): string => {
    const first = random.pick(firstNames);
    const last = random.pick(lastNames);
    const { city, state, zip } = random.pick(cities);
    const digits = String(random.integerBelow(100)).padStart(2, "0");
    let details = random.pick(sentences);
    const lead = {
      first_name: first,
      last_name: last,
      phone: random.next() < 0.02 ? "+44 20 7946 0958" : random.pick(phones).replace("##", digits),
      email: `${first}.${index}@Example-${digits}.com`.normalize("NFD").replaceAll(/[^\w.@-]/g, ""),
      street_address: `${1 + random.integerBelow(9_000)} ${random.pick(streets)}`,
      city,
      state,
      zip,
      country: city === "Toronto" ? "Canada" : "US",
      project_area: random.next() < 0.03 ? random.pick(unknownAreas) : random.pick(areas),
      project_service: random.pick(services),
      project_material: random.pick(materials),
      project_details: "",
      external_id: `prov-${(index * 7_919 + 1_000_003).toString(36)}-${digits}`,
      ...(random.next() < 0.5 ? { cost: Math.round(500 + random.next() * 9_500) / 100 } : {}),
      ...(random.next() < 0.1
        ? { utm_source: "search", landing_page: `/quotes/${random.pick(areas)}`, score: 0.87 }
        : {}),
    };
    const sizeWanted = 500 + random.integerBelow(160);
    while (JSON.stringify(lead).length + details.length < sizeWanted) {
      details += `${random.next() < 0.2 ? "\n" : " "}${random.pick(sentences)}`;
    }
    return JSON.stringify({ ...lead, project_details: details });
  };
  return Array.from({ length: count }, (_, index) => makeBody(index));
}
