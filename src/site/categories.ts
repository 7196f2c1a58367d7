/** The tree of categories, which determines the order of pages, the area groups, `llms.txt` and the table `category`. */

interface Category {
  readonly id: string;
  readonly parent: string | null;
  readonly name: string;
  readonly description: string;
}

type Row = readonly [id: string, parent: string | null, name: string, description: string];

const rows: readonly Row[] = [
  ["platform", null, "The platform", "What the service does, and for whom."],
  ["intake", null, "Intake API", "How a lead provider sends a lead."],
  ["forms", null, "Tenant forms", "How a customer's own website sends its visitors' submissions."],
  ["plans", null, "Plans", "Subscription plans and their feed."],
  ["vocabulary", null, "Vocabulary", "The terms that describe a lead's project."],
  ["areas", "vocabulary", "Project areas", "The part of the home that a lead is about."],
  ["areas-envelope", "areas", "The outside of the house", "The parts that keep the weather out."],
  [
    "areas-structure",
    "areas",
    "Structure and hidden spaces",
    "The parts that support the house, and the spaces that nobody lives in.",
  ],
  ["areas-rooms", "areas", "Rooms", "The rooms where people live, cook, wash and work."],
  [
    "areas-finishes",
    "areas",
    "Surfaces and fittings",
    "Floors, walls, stairs and doors: interior work that affects more than one room.",
  ],
  ["areas-systems", "areas", "Systems", "Water, power, heat and air."],
  ["areas-grounds", "areas", "Yard and grounds", "Everything that is built or grows around the house."],
  [
    "areas-other",
    "areas",
    "Other areas",
    "Terms of the vocabulary without a detailed description yet.",
  ],
  [
    "services",
    "vocabulary",
    "Project services",
    "The kind of work: replacement, repair, remodel, maintain.",
  ],
  ["kits", null, "Client kits", "Client libraries for posting leads, by language."],
  ["trust", null, "Security and privacy", "How keys, connections and personal data are handled."],
  ["reference", null, "Reference", "Questions and answers, the glossary, and this site as a database."],
];

/** All categories, in display order: each after its parent. */
export const categories: readonly Category[] = rows.map(([id, parent, name, description]) => (
  { id, parent, name, description }
));

/** The category for areas without a source. */
export const otherAreas = "areas-other";
