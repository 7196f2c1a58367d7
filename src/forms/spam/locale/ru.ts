/**
 * The commonest words of Russian pitches, and nothing of its customers: data only. This module is browser compatible.
 *
 * @module
 */

import type { Locale } from "./locale.ts";

/** The words of Russian; `locale.ts` says what each list is for. */
export const ru: Locale = {
  fieldNames: { message: [], email: [], phone: [], link: [], company: [], place: [], name: [] },
  everyday: [],
  loneLetters: [],
  shrugs: [],
  dots: [],
  placeholder: null,
  customer: {
    building: [],
    faults: [],
    webParts: [],
    asking: [],
    more: [],
    tradeBefore: [],
    tradeAfter: [],
    words: [],
  },
  seller: {
    words: { 1: [], 2: [], 3: [] },
    stance: { sales_talk: [], offer: [], your_business: [], results: [], opener: [], call_to_action: [] },
    grammar: {
      subjects: [],
      auxiliaries: [],
      verbs: [],
      notVerbs: [],
      pastEndings: [],
      weEndings: [],
      weCustomers: [],
      you: [],
      benefits: [],
      your: [],
      possessions: [],
    },
    prices: { per: [], units: [], from: [], articles: [], percent: [], millions: [], free: [] },
    urging: { verbs: [], when: [] },
  },
  pitches: {
    pitch_search_ranking: { strong: ["продвижение", "раскрутка"], fair: [], weak: [] },
    pitch_web_design: { strong: ["создание сайтов"], fair: [], weak: [] },
    pitch_publishing: { strong: [], fair: [], weak: [] },
    pitch_marketing: { strong: ["рассылка", "реклама"], fair: [], weak: [] },
    pitch_business: { strong: [], fair: [], weak: [] },
    pitch_finance: { strong: ["займ", "кредит"], fair: [], weak: [] },
    pitch_easy_money: { strong: ["биткоин", "заработок"], fair: [], weak: [] },
    pitch_gambling: { strong: ["вулкан", "казино", "ставки"], fair: [], weak: [] },
    pitch_health: { strong: ["виагра"], fair: [], weak: [] },
    pitch_goods: { strong: [], fair: [], weak: [] },
    pitch_adult: { strong: ["для знакомств*", "знакомства", "ищу мужчину", "порно"], fair: [], weak: [] },
    pitch_scam: { strong: [], fair: [], weak: [] },
  },
};
