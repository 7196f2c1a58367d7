/**
 * The keys and leads of the cases, and finding them where they must not be.
 *
 * @module
 */

/** Keys whose checksum is right, but for the mistyped ones. They open nothing. */
export const keys = {
  key: "lead_test_JoIv8xyL40ekqZ3oCjH5azfkFCsmLMsN3UwV2H",
  other_key: "lead_test_XlETHbcOt7C8uoVsxI8S0FIaTvmhtz7q4fnr7C",
  live_key: "lead_live_FSBrysGrwvg8JDrWLyCG6ImS27h1sR3g0fULLN",
  forms_key: "form_test_YNOLPdY0Jlvd6HldTuwBy2zExsMyn3q23OqNaS",
  mistyped_key: "lead_test_JoIv8xyL40ekqZ3oCjH5azfkFCsmLMsN3UwV2h",
  cut_key: "lead_test_JoIv8xyL40ekqZ3oCjH5azfkFCsmLMsN3UwV2",
  strange_key: "sk_live_FSBrysGrwvg8JDrWLyCG6ImS27h1sR3g0fULLN",
} as const;

/** The lead that cases post when they say nothing else. Each of its values has the word that is searched for. */
export const lead = JSON.stringify({
  first_name: "Canaryada",
  last_name: "Canarylovelace",
  phone: "(555) 010-4477",
  email: "canary@lead.example",
  project_details: "Canary: the roof leaks.\nTwice.",
});

/** So many characters of a key in a row tell it. */
const tellingLength = 8;

const pieces: ReadonlySet<string> = new Set(
  Object.values(keys).flatMap((key) => {
    const random = key.slice(key.lastIndexOf("_") + 1);
    return Array.from(
      { length: random.length - tellingLength + 1 },
      (_, at) => random.slice(at, at + tellingLength),
    );
  }),
);

/** What must not be there and is: `a key`, `the lead`. */
export function secretsIn(text: string): string[] {
  return [
    ...([...pieces].some((piece) => text.includes(piece)) ? ["a key"] : []),
    ...(/canary|010-4477/i.test(text) ? ["the lead"] : []),
  ];
}
