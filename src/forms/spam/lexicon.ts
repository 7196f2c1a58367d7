/**
 * The vocabulary of pitches: data only. Phrases are folded (lower case, no accents, apostrophes are spaces) and
 * separated by commas; `rank*` is any word that begins so. This module is browser compatible.
 *
 * @module
 */

import type { SpamReasonName } from "./reasons.ts";
import { spanishTopics } from "./lexicon_es.ts";

/** One thing that is sold, by how surely a phrase sells it. */
export interface Topic {
  readonly reason: SpamReasonName;
  /** Hardly ever said by somebody who wants work done on a house. */
  readonly strong: string;
  /** Said now and then: it takes several. */
  readonly fair: string;
  /** Everyone's words; they count only where something else sells. */
  readonly weak: string;
}

const englishTopics: readonly Topic[] = [
  {
    reason: "pitch_search_ranking",
    strong: `
      seo service*, seo expert*, seo agency, seo audit, seo package*, seo company, seo specialist*, seo
      consultant, seo report, seo strateg*, seo campaign*, local seo, on page seo, off page seo, white hat,
      backlink*, link building, linkbuilding, domain authority, domain rating, organic traffic, website
      traffic, web traffic, targeted traffic, search engine optim*, search engine ranking*, search rankings,
      rank higher, rank your, ranking your, rank number one, outrank*, improve your ranking*, google ranking*,
      google rankings, keyword ranking*, keyword research, high da, meta tags, core web vitals, google
      penalt*, website audit, site audit, map pack, google maps ranking*, ai overviews, serp, serps, indexed
      by google, not ranking, ranking on google, unique visitors, visitors to your
    `,
    fair: `
      seo, first page of google, page one of google, page 1 of google, 1st page of google, top of google, top
      of search, search results, search engines, google search, keywords, rank on, ranking on, rankings, more
      visitors, online visibility, technical errors, google business profile, website health
    `,
    weak: "traffic, google, yahoo, bing, visibility, website, competitors, organic",
  },
  {
    reason: "pitch_web_design",
    strong: `
      free mockup, mockup of, i fix websites, website looks, your site looks, your website looks, your site is
      slow, your website is slow, site loads, load right on phones, load on phones, load on mobile, not
      mobile, ada compliance, ada compliant, accessibility lawsuit*, accessibility widget, vulnerability in
      your, security vulnerabilit*, bug bounty, wix, squarespace, webflow, drone photography, virtual tours,
      saas, machine learning, gpt, chatgpt, website design, web design, web design services, website redesign,
      redesign your, redesigning your, web development, website development, web developer*, app development,
      mobile app development, wordpress development, wordpress developer*, shopify, logo design, responsive
      design, explainer video*, animated video*, whiteboard video*, promo video*, video production, graphic
      design services, ui ux, html5, full stack, mockup of your, new website for, outdated website, website
      looks outdated, landing page, e commerce website, ecommerce website, build you a website, website for
      your business, design team, custom website, software development, mobile friendly, chatbot*, ai agent*,
      ai receptionist, ai assistant, ai voice, ai automation, web hosting
    `,
    fair: `
      mobile app, wordpress, graphic design*, web designer, website designer, explainer, video for your,
      developers, web site, hosting, ai powered, automation, automate*, crm, prototype
    `,
    weak: "design, website, app, logo, video, mockup, homepage, ai",
  },
  {
    reason: "pitch_publishing",
    strong: `
      guest post*, guest article*, guest blog*, sponsored post*, sponsored article*, sponsored content, link
      insertion*, link exchange, do follow, dofollow, paid post, paid article, write for your blog, article
      for your, article on your, article to your, publish an article, publish on your, content for your, place
      a link, text link, link placement*, link swap, link to our, high authority, niche edit*, press release*,
      collaborate with your blog, contribute an article, editorial calendar, content writer*
    `,
    fair: `
      your blog, your readers, your audience, article, publish, publishing, collaboration, blogger*, niche,
      advertise on your
    `,
    weak: "blog, post, link, content, sponsored",
  },
  {
    reason: "pitch_marketing",
    strong: `
      half page, full page ad, ad space, local magazine, neighborhood magazine, community magazine, every door
      direct, direct mail, postcard campaign*, billboard*, radio ad*, tv ad*, podcast*, best of, award
      winner*, been nominated, been selected for, nominated for, been chosen, feature your business, feature
      you, featured in, press coverage, testimonials video, flow of jobs, flow of leads, steady flow, steadier
      flow, accepting new customers from, get more jobs, more jobs, fill your schedule,
      ready to buy, homeowners in your area, homeowners looking, exclusive territory, more reviews, get more
      reviews, review generation, close more, ghl, funnel*, sales funnel*, newsletter sponsorship, social
      media marketing, social media management, digital marketing, internet marketing, online marketing,
      marketing agency, marketing services, marketing company, marketing package*, email marketing, lead
      generation, lead gen, generate leads, generating leads, generate more leads, qualified leads, exclusive
      leads, targeted leads, roofing leads, homeowner leads, more leads, leads for your, pay per lead, pay per
      call, email list*, email database, mailing list, contact list*, business list, bulk email*, bulk sms,
      sms marketing, contact forms, contact form marketing, contact form submission*, form blast*, facebook
      ads, google ads, instagram ads, ad campaign*, ppc, instagram followers, real followers, buy followers,
      followers and likes, buy reviews, google reviews for, star reviews, remove negative reviews, negative
      reviews, reputation management, grow your business, grow your brand, growing your business, scale your,
      boost your sales, boost your business, increase your sales, increase your revenue, increase sales,
      double your, triple your, more customers, more clients, more booked, booked jobs, booked appointments,
      fill your calendar, brand awareness, advertis* your, promote your,
      promotional products, influencer*, decision makers, cold email*, outreach campaign*, millions of
      websites, websites contact, reach millions, customers who are ready
    `,
    fair: `
      taking on new clients, new customers, new clients, social media, leads, followers, likes, campaign*, facebook page, advertising, advertise, conversion
      rate, conversions, roi, growth, marketing, sales team, subscribers, prospects, promote, promotion, your
      sales, tiktok, flyers, commercial on, magazine
    `,
    weak: "boost, grow, sales, customers, clients, brand, reviews, audience, revenue",
  },
  {
    reason: "pitch_business",
    strong: `
      card processing, processing statement, cash discount, merchant statement, per employee, tax credit for
      your, r d tax, projects to bid, any projects, do takeoffs, our estimators, estimators, commercial
      cleaning, office cleaning, cleaning for offices, domain name, domain names, buyers looking to purchase,
      valuation of your, exit strategy, buy a company, purchase a business, buying a business, looking to
      acquire, fuel card*, voip, phone system, toll free number*, business internet, corporate card, osha
      training, safety training, compliance poster*, labor law, background check*, drug test*, uniforms,
      promotional pens, translation services, energy broker, electricity rates, security cameras for your,
      franchise, rfq, container*, shipping agent, freight, customs, iso 9001, our company supplies, supply of,
      we export, raw material*, machinery, excavators for sale, tools wholesale, photo booth, notary, dumpster
      rental for, portable toilet*, seo reseller, contractor insurance, bonding, surety bonds, licensed agent,
      health insurance plans, group health, payroll, hire vetted, vetted candidates, resumes of, candidates
      for, workforce, skilled workers from, h2b, visa sponsor*, takeoff service*, take off service*, takeoffs,
      quantity takeoff*, estimating service*, estimation service*, construction estimat*, cost estimation,
      estimating company, cad drafting, drafting services, bim modeling, 3d rendering services, rendering
      services, virtual assistant*, outsourc*, offshore, bpo, call center, appointment setter*, appointment
      setting, telemarket*, merchant services, merchant account, credit card processing, payment processing,
      processing fees, employee retention credit, erc refund, payroll services, staffing agency, staffing
      solutions, bookkeeping services, accounting services, tax relief, commercial cleaning services,
      janitorial services, business insurance, general liability, workers comp insurance, our factory, we
      manufacture, manufacturer of, manufacturer in, leading manufacturer, leading supplier, wholesale price*,
      moq, fob, oem, our products, our product range, product catalog*, bulk order*, trademark,
      domain registration, domain name is, domain expir*, domain for sale, domain name for sale, premium
      domain, buy your business, sell your business, acquire your, acquiring, vehicle wraps, custom apparel,
      branded apparel, company shirts, dump truck owners, business directory, list your business, listing your
      business, add your business, claim your listing, featured listing, dispatch services, fleet tracking,
      gps tracking, field service software, scheduling software, free samples, sample pack, business cards,
      trade show, exhibitor*, attendee list, webinar, certification course*, partnership opportunity, business
      opportunity, strategic partner*, white label, reseller*, affiliate*
    `,
    fair: `
      price list, our software, our platform, our solution*, free demo, live demo, book a demo, free trial, supplier*,
      wholesale, manufacturer, factory, subcontractor crew, labor crews, promotional, directory, partnership,
      partner with, vendor list, outsource, distributor*, catalogue, export*, shipment, pricing plans, per
      month, monthly fee, flat fee
    `,
    weak: "price, quote, products, estimating, samples, crews, software, platform, discount*",
  },
  {
    reason: "pitch_finance",
    strong: `
      looking for capital, your file, bank statements to finalize, credit line, funds available, growth
      capital, revenue based, equipment loan*, equipment lease*, payoff your, tax debt, owe the irs, irs debt,
      student loan*, reverse mortgage*, refinance your, mortgage rates, annuit*, life insurance quote*, final
      expense, medicare plan*, business loan*, business funding, business capital, business line of credit,
      working capital, merchant cash advance, cash advance, unsecured loan*, loan offer*, loan company, we
      offer loans, offer loans, loans at, payday loan*, personal loans from, instant loan*, instant approval,
      quick loan*, same day funding, funding for your, fund your business, credit repair, fix your credit,
      boost your credit, remove collections, debt relief, debt consolidation, no credit check, guaranteed
      approval, interest rate of, equipment financing, invoice factoring, private lender*, project funding,
      loan lender, funding options, funding program, approved for up to, pre approved for, get funded, sba
      loan*, offer financing to your, financing for your customers, consumer financing, hard money
    `,
    fair: `
      low interest, 2 interest, 3 interest, loan amount, funding, lender*, collateral, credit score, bad
      credit, financing solutions, apply today, apply now, approval
    `,
    weak: "loan, loans, credit, capital, financing, interest, debt, approved",
  },
  {
    reason: "pitch_easy_money",
    strong: `
      bitcoin trading, in bitcoin, bitcoins, btc wallet, crypto recovery, recover lost, crypto,
      cryptocurrenc*, btc, ethereum, usdt, nft, nfts, forex, binary option*, trading bot*, trading platform,
      trading signals, passive income, investment opportunit*, investment platform, guaranteed return*,
      guaranteed profit*, double your money, earn money, earn up to, earn from home, make money, make money
      online, extra income, financial freedom, work from home job*, remote job*, part time job, data entry
      job*, online job*, paid survey*, per day from, a day from, daily profit*, weekly payout*, quick cash,
      get rich, your wallet, airdrop, token sale, day trading, mlm, downline, be your own boss, return on
      investment of, invest with
    `,
    fair: `
      bitcoin, remote job*, recruiter, no experience, invest, investor*, investment, profit, profits,
      earning*, income, blockchain, wallet, trader*, stock market, side hustle
    `,
    weak: "money, cash, earn, job, jobs, coin, payout, withdraw*",
  },
  {
    reason: "pitch_gambling",
    strong: `
      online casino*, casino bonus*, casino online, casinos, free spins, slot gacor, slot machines, slots
      online, online slots, sports betting, sportsbook, betting site*, bet online, online betting, online
      poker, no deposit bonus, deposit bonus, welcome bonus, jackpot*, gambling, roulette, blackjack,
      baccarat, judi, togel, 1xbet, betwinner, crypto casino, situs, bandar, lottery tips
    `,
    fair: "casino, betting, poker, slots, wager*, bookmaker*, spins",
    weak: "bonus, bet, win, jackpot",
  },
  {
    reason: "pitch_health",
    strong: `
      viagra, cialis, levitra, sildenafil, tadalafil, tramadol, xanax, modafinil, phentermine, ozempic,
      semaglutide, erectile, male enhancement, penis, testosterone booster, weight loss, lose weight, lose 10,
      lose 20, lose 30, fat burn*, burn fat, keto, keto gummies, cbd gummies, cbd oil, online pharmacy,
      canadian pharmacy, cheap meds, without prescription, without a prescription, no prescription, diet
      pills, miracle cure, hair growth, blood sugar support, joint pain relief, dietary supplement*, health
      supplement*, steroids, peptide*, kratom, doctors hate, anti aging, detox tea, vapes
    `,
    fair: "pharmacy, prescription, pills, supplement*, cbd, gummies, medication*, tinnitus, prostate",
    weak: "pain, doctor*, cure, health, natural",
  },
  {
    reason: "pitch_goods",
    strong: `
      replica, replicas, replica watches, fake id, fake passport*, buy passport, driver license online,
      counterfeit, clone cards, handbags, louis vuitton, gucci, rolex, ray ban, nike shoes, jordans, yeezy,
      cheap jerseys, wholesale jerseys, sunglasses, iptv, vpn, windows keys, activation key*, license key*,
      cracked software, crack download, torrent, free download, full movie, watch online, mod apk, essay*,
      term paper*, homework help, dissertation*, buy diploma, gift store, dropship*, best watches, e
      cigarette*, vape*, air fryer*, massager*, pet toys, phone case*, led lights for, hoverboard*, free
      shipping, 50 off, 60 off, 70 off, 80 off, 90 off, worldwide shipping, temu, aliexpress, lowest price
      online, cheap flights, luxury tours, hotel deals, travel deals, timeshare*, survey reward
    `,
    fair: `
      watches, quality aaa, aaa quality, shoes, jewelry, outlet store, coupon code, promo code, discount code,
      coupon*, download, checkout, free gift, bracelet*, necklace*
    `,
    weak: "sale, deal, deals, gift, shipping, cheap, shop",
  },
  {
    reason: "pitch_adult",
    strong: `
      hookups, hook up with, hookup site*, hookup tonight, porn*, xxx, hot girls, sexy girls, sexy women, hot
      singles, single women, horny, nude*, nudes, naked, onlyfans, escort, escorts, sex, sexual, milf, webcam
      girls, webcam model, adult dating, dating site*, sex dating, looking for a man, meet women, meet girls,
      one night, my photos here, lonely tonight, erotic*, russian women, foreign brides
    `,
    fair: "dating, sexy, lonely, webcam, kiss, intimate, singles, hookup",
    weak: "girls, girl, women, date, hot, chat",
  },
  {
    reason: "pitch_scam",
    strong: `
      verification code sent, parcel could not, package could not, delivery failed, outstanding invoice,
      payment advice, updated bank details, change of bank, ambassador, united nations, compensation fund, atm
      visa, fund transfer, my late husband left, orphan, investor from, foreign investor, private investor*,
      dubai investor, oil company, gold dust, embarrassing video, your contacts, masturbat*, your hosting has,
      will be deactivated, be deactivated, will be deleted, be removed permanently, pending messages, incoming
      messages, next of kin, inheritance fund*, late client, deceased client, beneficiary, million dollars,
      million usd, million united states dollars, usd million, unclaimed fund*, atm card, lottery winner, you
      have won, you ve won, you won, claim your prize, claim your reward, selected as a winner,       confidential business, confidential proposal, business proposal, mutual benefit, dear friend, dear
      beloved, god bless you, western union, moneygram, wire transfer, bank draft, your mailbox, your account
      has been, account will be suspended, account was suspended, account suspended, verify your account,
      confirm your account, confirm your password, unusual sign in, mail storage, mailbox is full, hacked
      your, i hacked, your device, recorded you, your webcam, i have access to your, your database, your site
      has been hacked, we have hacked, leaked data, pay the ransom, ransom, transfer the bitcoin, copyright
      infringement, copyrighted images, your images without, my images, my photographs, images without
      permission, stolen images, lawsuit against, sue you, dmca, expiration notice, domain notice, terminate
      your domain, invoice attached, overdue invoice, payment overdue, tax refund, barrister, widow, cancer
      patient, charity donation, donate the sum, diplomat*, consignment box, gold bars
    `,
    fair: `
      legal action, final notice, gift card*, inheritance, winner, congratulations, prize*, transfer, confidential, urgent
      business, trust fund,  deceased, donation, refund, copyright, copyrighted,
      suspended, hacked, suspicious, private shipper, cashier s check, mover
    `,
    weak: "account, password, bank account, bank, fund, funds, legal, claim, reward, virus, notice",
  },
];

/** Every topic, in both languages. */
export const topics: readonly Topic[] = [...englishTopics, ...spanishTopics];
