import assert from "node:assert/strict";
import test from "node:test";
import { defaultThreshold } from "../../../src/forms/spam/score.ts";
import { type Fields, score } from "../../support/forms/score.ts";

/** The site's own words in a submission: disclosures, option labels, summaries and links to policies. */
const sender: Fields = { name: "Dana Reyes", email: "dana.reyes@example.com", phone: "503-555-0147" };
const page: Fields = { page_url: "https://acmebath.example/quote" };
const request = "Looking for a bathroom estimate, tub to shower.";
const disclosure =
  "I agree to receive text messages from Acme about my request, including reminders and offers. Consent is not a " +
  "condition of purchase. Message frequency varies. Message and data rates may apply. Reply HELP for help or STOP to cancel.";
const pitches = [
  "Hi, I noticed your website is not ranking on Google. We can get you on page one within 30 days. Interested?",
  "We offer SEO services, backlinks and guest posts to rank your website on the first page of Google",
  "Exclusive roofing leads for your area, pay only per appointment, no contract. Reply for pricing.",
  "Unsecured business loans up to $250,000, approval in 24 hours, bad credit is fine",
];

const isHeld = (fields: Fields) => score({ ...sender, ...page, ...fields }).score >= defaultThreshold;

test("a disclosure beside a message weighs nothing, whatever its field is called", () => {
  const alone = score({ ...sender, ...page, message: request });
  for (const name of ["sms_consent", "consent_text", "12.2", "checkbox-453", "I agree to the terms"]) {
    assert.deepEqual(score({ ...sender, ...page, message: request, [name]: disclosure }), alone, name);
  }
  assert.deepEqual(
    score({ ...sender, ...page, message: `${request} ${disclosure}` }),
    alone,
    "in the message",
  );
});

test("option labels and summary lines hold nobody", () => {
  for (
    const answers of [
      {
        homeowner: "Yes",
        credit_score: "Good (680-719)",
        electric_bill: "$101-$150",
        roof_shade: "No shade",
      },
      {
        homeowner: "Yes",
        credit_score: "Excellent (720+)",
        electric_bill: "$201+",
        roof_shade: "Partial shade",
      },
      { message: "Homeowner: Yes\nCredit: Good\nElectric bill: $150-$200" },
      { summary: "Project: Walk-in tub | Financing: Yes | Budget: $10,000-$15,000 | Offer: $1,500 off" },
    ]
  ) assert.ok(!isHeld(answers), JSON.stringify(answers));
});

test("links to the site's policies hold nobody, without a page_url or with a landing page on another domain", () => {
  const links = "https://acmebath.com/terms and https://acmebath.com/privacy";
  for (
    const fields of [
      { consent: `By submitting, I agree to the Terms and the Privacy Policy: ${links}.` },
      {
        consent:
          `<a href="https://acmebath.com/p">Privacy Policy</a> and <a href="https://acmebath.com/t">Terms</a> accepted`,
      },
      { message: request, terms: links },
      {
        message: request,
        landing_page: "https://quotes.acmebath.com/lp",
        source: "https://quotes.acmebath.com/lp?x=1",
      },
    ]
  ) {
    for (const page_url of [null, "https://go.landing.example/bath"]) {
      assert.ok(!isHeld({ ...fields, page_url }), JSON.stringify(fields));
    }
  }
});

test("a pitch is held in every place of the site's own words, and a disclosure does not hide it", () => {
  for (const pitch of pitches) {
    for (
      const fields of [
        { consent: pitch },
        { service: pitch },
        { "12.2": pitch },
        { token: `${pitch} ${pitch}` },
        { page_title: `${pitch} ${pitch}` },
        { message: pitch, sms_consent: disclosure },
        { message: `${pitch} ${disclosure}` },
        { message: `${disclosure}\n${pitch}` },
        { consent: `${disclosure} ${pitch}` },
        { message: request, consent: pitch },
        { homeowner: "Yes", credit_score: "Good (680-719)", notes: pitch },
        { message: `Name: Sam\nService: ${pitch}\nPhone: 555-0100` },
      ]
    ) assert.ok(isHeld(fields), `${JSON.stringify(fields)} ${score({ ...sender, ...fields }).score}`);
  }
});

test("a pitch in the words of a disclosure, a blocked word and an attack in one are still found", () => {
  const consent =
    "By replying you agree to our SEO services, backlinks and first page Google ranking by text messages, terms apply";
  assert.ok(isHeld({ message: "Hello", consent }));
  const blocked = `${disclosure} I accept the privacy policy of the lottery.`;
  assert.ok(score({ ...sender, consent: blocked }, ["lottery"]).reasons.includes("blocked_words"));
  const attack = "I agree to the terms and the privacy policy <script>alert(1)</script>";
  assert.ok(score({ ...sender, consent: attack }).reasons.includes("attack_probe"));
});

test("a language alone holds nobody", () => {
  for (
    const message of [
      "Ich suche einen Handwerker für mein Bad. Bitte rufen Sie mich an. Mit freundlichen Grüßen",
      "Cerco un idraulico per il bagno, mi può chiamare domani?",
      "Szukam ekipy do remontu dachu, proszę o kontakt.",
      "我家的屋顶漏水，请问可以来看看吗？",
      "Нужен ремонт ванной, перезвоните пожалуйста",
    ]
  ) assert.ok(!isHeld({ message }), message);
});

test("legal words do not hide links: not before a disclosure, not on several hosts, not in a message, not as answers", () => {
  const spam = "Increase your traffic https://traffic.example/buy";
  for (
    const fields of [
      { message: `${spam} by sending this you agree to the privacy terms` },
      {
        message:
          "By clicking https://bit.ly/3xyz you agree to our terms. Text messages at https://t.me/x and privacy",
      },
      { message: "https://rankfast.example/privacy" },
      {
        message:
          "Houses we renovate: https://a.example/privacy-offer https://b.example/legal https://c.example/terms",
      },
      {
        message: "Cheap meds https://m1.example https://m2.example",
        landing_page: "https://m1.example https://m2.example",
        source_url: "https://m2.example",
      },
      {
        message: "Please call me",
        offer: "https://rank.example/first-page",
        more: "https://rank.example/google",
      },
    ]
  ) assert.ok(isHeld({ ...fields, page_url: null }), JSON.stringify(fields));
});

test("a pitch cut into technical fields, behind a browser's name or into letters is held", () => {
  const [, pitch = ""] = pitches;
  const parts = Object.fromEntries(
    pitch.split(" ").map((_, at, words) => [`utm_${at}`, words.slice(at, at + 4).join(" ")]),
  );
  for (
    const fields of [
      { message: "Please call", ...parts },
      { message: "Please call", page_title: `Mozilla/5.0 ${pitch}` },
      { message: "Please call", request_id: pitch.replaceAll(" ", "\u2800") },
      { message: pitch.replace(/\b([a-z])([a-z]+)/gi, "$1 $2") },
      { message: [...pitch].join(" ") },
    ]
  ) assert.ok(isHeld(fields), JSON.stringify(fields));
  const browser =
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 Version/17.5 Safari/604.1";
  assert.ok(
    !isHeld({ message: request, user_agent: browser, page_title: "Roof Repair Portland | Acme Roofing" }),
  );
});
