/**
 * What a language must tell the spam score: its words, by what they are a sign of. The score has none of its own; it
 * reads those of all languages together, because people mix them within a sentence. This module is browser compatible.
 *
 * @module
 */

import type { SpamReasonName } from "../reasons.ts";

/**
 * Words and phrases, sorted, each once. They are compared without case and accents, and apostrophes are spaces:
 * `don t miss`. `rank*` is any word that begins so.
 */
export type Terms = readonly string[];

/** A reason that names what is sold. */
export type PitchReason = Extract<SpamReasonName, `pitch_${string}`>;

/** The vocabulary of one thing that is sold, by how surely a phrase sells it. */
export interface Pitch {
  /** Hardly ever said by somebody who wants work done on a house. */
  readonly strong: Terms;
  /** Said now and then: it takes several. */
  readonly fair: Terms;
  /** Everyone's words; they count only where something else sells. */
  readonly weak: Terms;
}

/** The parts of the score that depend on a language. A list may be empty: the language is then judged by the others. */
export interface Locale {
  /** Words of a form field's name, by what the field holds; `message` is free text. */
  readonly fieldNames: {
    readonly message: Terms;
    readonly email: Terms;
    readonly phone: Terms;
    /** A field that asks for a link or a file. */
    readonly link: Terms;
    /** What is no name of a person, and no free text either: a firm, a subject, a kind of project. */
    readonly company: Terms;
    readonly place: Terms;
    readonly name: Terms;
  };
  /** Words in nearly every sentence of this language, and in few of others: two tell that a text is understood. */
  readonly everyday: Terms;
  /** Single letters that are words, so that the letters after one are not taken for a word that was spaced out. */
  readonly loneLetters: Terms;
  /** Short answers that people give to several questions of a form. */
  readonly shrugs: Terms;
  /** How "." is spelled in an address that filters shall not see. */
  readonly dots: Terms;
  /** What a program that mails should have filled in, such as `[your name]`; null where none is known. */
  readonly placeholder: RegExp | null;
  readonly customer: CustomerWords;
  readonly seller: SellerWords;
  readonly pitches: Readonly<Record<PitchReason, Pitch>>;
}

/** Words of somebody who writes about a building and wants something done. */
interface CustomerWords {
  /** Parts of a house and what is in it, singular and plural; a phrase has two words, of which the last is the part. */
  readonly building: Terms;
  /** What goes wrong with a house. */
  readonly faults: Terms;
  /** What breaks in a web site instead: "broken link". */
  readonly webParts: Terms;
  /** Asks for work without any other word. */
  readonly asking: Terms;
  /** After a word that asks, these make it a seller's: "want more". */
  readonly more: Terms;
  /** Before a part of a house, these make it the reader's trade: "home improvement". */
  readonly tradeBefore: Terms;
  /** After a part of a house, these make it the reader's trade: "roof contractors". */
  readonly tradeAfter: Terms;
  /** Anything else that customers say more than sellers do; each takes one off a seller's wording. */
  readonly words: Terms;
}

/** Words of somebody who sells. */
export interface SellerWords {
  /** What sellers say more than customers do, by weight. None says much, many together do. */
  readonly words: Readonly<Record<1 | 2 | 3, Terms>>;
  /** What makes a sender a seller, whatever is sold; each kind counts once. */
  readonly stance: {
    readonly sales_talk: Terms;
    readonly offer: Terms;
    readonly your_business: Terms;
    readonly results: Terms;
    readonly opener: Terms;
    readonly call_to_action: Terms;
  };
  /** Who does what for whom, a word each. */
  readonly grammar: {
    /** Who does something: "we", "our team". */
    readonly subjects: Terms;
    /** Between the subject and the verb: "we can". */
    readonly auxiliaries: Terms;
    /** What sellers do for others; the verbs of people who want something done are missing on purpose. */
    readonly verbs: Terms;
    /** Customers do these too, with what is theirs. */
    readonly notVerbs: Terms;
    /** A verb that ends so tells what was. */
    readonly pastEndings: Terms;
    /** A verb that ends so has its subject in it: "ofrecemos". */
    readonly weEndings: Terms;
    /** Such verbs that customers use. */
    readonly weCustomers: Terms;
    /** The reader. */
    readonly you: Terms;
    /** What the reader does or gets, after `you`. */
    readonly benefits: Terms;
    /** The reader's. */
    readonly your: Terms;
    /** What only somebody in business has, after `your`. */
    readonly possessions: Terms;
  };
  /** Prices, of which the score adds the figures. A term is the beginning of a word here. */
  readonly prices: {
    /** Between a price and its unit: "$99 a month". */
    readonly per: Terms;
    readonly units: Terms;
    /** Before a price: "from $99". */
    readonly from: Terms;
    /** May stand between `from` and the price: "por los $99". */
    readonly articles: Terms;
    /** After a percentage: "20% off". */
    readonly percent: Terms;
    /** Large numbers, after a figure; whole words. */
    readonly millions: Terms;
    readonly free: Terms;
  };
  /** "Order now": what to do at once, and the word that says so. */
  readonly urging: { readonly verbs: Terms; readonly when: Terms };
}
