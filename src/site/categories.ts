/** The tree that the pages hang in: the site's menus, its contents and the table `category` are made from it. */

/** A place in the tree. */
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
  ["forms", null, "Tenant forms", "How a customer's own website sends what visitors fill in."],
  ["plans", null, "Plans", "Subscription plans, and the feed they are read from."],
  ["vocabulary", null, "Vocabulary", "The terms that a lead's project is described in."],
  ["areas", "vocabulary", "Project areas", "Which part of the home a lead is about."],
  ["areas-envelope", "areas", "The outside of the house", "What keeps the weather out."],
  [
    "areas-structure",
    "areas",
    "Structure and hidden spaces",
    "What carries the house, and the spaces that nobody lives in.",
  ],
  ["areas-rooms", "areas", "Rooms", "Where people live, cook, wash and work."],
  [
    "areas-finishes",
    "areas",
    "Surfaces and fittings",
    "Floors, walls, stairs and doors: what is inside and in more than one room.",
  ],
  ["areas-systems", "areas", "Systems", "Water, power, heat and air."],
  ["areas-grounds", "areas", "Yard and grounds", "What stands or grows around the house."],
  [
    "areas-other",
    "areas",
    "Further areas",
    "Terms of the vocabulary that have no description of their own yet.",
  ],
  [
    "services",
    "vocabulary",
    "Project services",
    "What is to be done: replacement, repair, remodel, maintain.",
  ],
  ["kits", null, "Client kits", "Wrappers of the one call, by language."],
  ["trust", null, "Security and privacy", "How keys, connections and personal data are handled."],
  ["reference", null, "Reference", "Questions and answers, the glossary, and this site as a database."],
];

/** All of them: each after its parent, in the order in which they are listed. */
export const categories: readonly Category[] = rows.map(([id, parent, name, description]) => (
  { id, parent, name, description }
));

/** Where an area hangs that the vocabulary has and no source describes. */
export const otherAreas = "areas-other";
