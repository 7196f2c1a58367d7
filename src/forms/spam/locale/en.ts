/**
 * English, as customers and sellers in the United States and Canada write it: data only. This module is browser
 * compatible.
 *
 * @module
 */

import { customer } from "./en/customer.ts";
import { fieldNames } from "./en/field_names.ts";
import { pitches } from "./en/pitches.ts";
import { sellerGrammar } from "./en/seller_grammar.ts";
import { sellerStance } from "./en/seller_stance.ts";
import { sellerWords } from "./en/seller_words.ts";
import type { Locale } from "./locale.ts";

/** The words of English; `locale.ts` says what each list is for. */
export const en: Locale = {
  fieldNames,
  everyday: ["and", "are", "for", "have", "is", "it", "the", "this", "to", "we", "with", "you", "your"],
  loneLetters: ["i", "m"],
  shrugs: [
    "asap",
    "hello",
    "hi",
    "n a",
    "na",
    "no",
    "none",
    "ok",
    "other",
    "same",
    "see above",
    "see below",
    "tbd",
    "test",
    "x",
    "xx",
    "yes",
  ],
  dots: ["dot"],
  placeholder:
    /\{\{?\s?(first|last|full|your|business|company)?_?(name|domain|website|company|city|url)\s?\}?\}|\[(first|last|business|company|your|website|domain)[ _]?(name|url)\]|%(domain|name|company|first_?name|website)%/iu,
  customer,
  seller: {
    words: sellerWords,
    stance: sellerStance,
    grammar: sellerGrammar,
    prices: {
      per: ["a", "an", "per"],
      units: [
        "call",
        "day",
        "head",
        "hour",
        "hr",
        "lead",
        "mo",
        "month",
        "report",
        "seat",
        "spot",
        "state",
        "text",
        "user",
        "view",
        "week",
        "year",
      ],
      from: ["as little as", "as low as", "from", "just", "only", "starting at", "under"],
      articles: [],
      percent: ["accuracy", "daily", "discount", "guaranteed", "off", "return", "roi"],
      millions: ["million"],
      free: [
        "free account",
        "free analysis",
        "free audit",
        "free consultation",
        "free copy",
        "free delivery",
        "free demo",
        "free gift",
        "free guide",
        "free listing",
        "free mockup",
        "free month",
        "free preview",
        "free report",
        "free sample",
        "free setup",
        "free shipping",
        "free spins",
        "free tool",
        "free training",
        "free trial",
        "free video",
        "free website",
        "free week",
      ],
    },
    urging: {
      verbs: [
        "act",
        "apply",
        "book",
        "buy",
        "call",
        "enroll",
        "join",
        "order",
        "register",
        "reply",
        "reserve",
        "shop",
      ],
      when: ["before", "by", "here", "now", "today", "yours"],
    },
  },
  pitches,
};
