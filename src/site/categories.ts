/**
 * The tree that the pages hang in: the site's menus, its contents and the table `category` are made from it.
 *
 * @module
 */

/** A place in the tree. */
interface Category {
  readonly id: string;
  readonly parent: string | null;
  readonly name: string;
  readonly description: string;
}

/** All of them: each after its parent, in the order in which they are listed. */
export const categories: readonly Category[] = [
  {
    id: "platform",
    parent: null,
    name: "The platform",
    description: "What the service does, and for whom.",
  },
  {
    id: "intake",
    parent: null,
    name: "Intake API",
    description: "How a lead provider sends a lead.",
  },
  {
    id: "forms",
    parent: null,
    name: "Tenant forms",
    description: "How a customer's own website sends what visitors fill in.",
  },
  {
    id: "plans",
    parent: null,
    name: "Plans",
    description: "Subscription plans, and the feed they are read from.",
  },
  {
    id: "vocabulary",
    parent: null,
    name: "Vocabulary",
    description: "The terms that a lead's project is described in.",
  },
  {
    id: "areas",
    parent: "vocabulary",
    name: "Project areas",
    description: "Which part of the home a lead is about.",
  },
  {
    id: "areas-envelope",
    parent: "areas",
    name: "The outside of the house",
    description: "What keeps the weather out.",
  },
  {
    id: "areas-structure",
    parent: "areas",
    name: "Structure and hidden spaces",
    description: "What carries the house, and the spaces that nobody lives in.",
  },
  {
    id: "areas-rooms",
    parent: "areas",
    name: "Rooms",
    description: "Where people live, cook, wash and work.",
  },
  {
    id: "areas-finishes",
    parent: "areas",
    name: "Surfaces and fittings",
    description: "Floors, walls, stairs and doors: what is inside and in more than one room.",
  },
  {
    id: "areas-systems",
    parent: "areas",
    name: "Systems",
    description: "Water, power, heat and air.",
  },
  {
    id: "areas-grounds",
    parent: "areas",
    name: "Yard and grounds",
    description: "What stands or grows around the house.",
  },
  {
    id: "areas-other",
    parent: "areas",
    name: "Further areas",
    description: "Terms of the vocabulary that have no description of their own yet.",
  },
  {
    id: "services",
    parent: "vocabulary",
    name: "Project services",
    description: "What is to be done: replacement, repair, remodel, maintain.",
  },
  {
    id: "kits",
    parent: null,
    name: "Client kits",
    description: "Ten wrappers of the one call, by language.",
  },
  {
    id: "trust",
    parent: null,
    name: "Security and privacy",
    description: "How keys, connections and personal data are handled.",
  },
  {
    id: "reference",
    parent: null,
    name: "Reference",
    description: "Questions and answers, the glossary, and this site as a database.",
  },
];

/** Where an area hangs that the vocabulary has and no source describes. */
export const otherAreas = "areas-other";
