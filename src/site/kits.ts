/**
 * The client kits: ten wrappers of the one call.
 *
 * Source: SPEC, What the service does.
 *
 * @module
 */

/** One kit. */
export interface Kit {
  readonly name: string;
  /** What it is called from. */
  readonly from: string;
  /** The programming language, where the specification tells it. */
  readonly language: string | null;
  /** What it is for. */
  readonly about: string;
}

/** All of them, in the order of the specification. */
export const kits: readonly Kit[] = [
  { name: "leads-go", from: "Go", language: "Go", about: "Go programs." },
  {
    name: "leads-cli",
    from: "the command line",
    language: null,
    about: "Checks a key, posts a lead, reads the vocabulary. Good for a first try.",
  },
  { name: "leads-rust", from: "Rust", language: "Rust", about: "Rust programs." },
  {
    name: "leads-node",
    from: "Node.js",
    language: "TypeScript",
    about: "Node.js programs in JavaScript or TypeScript.",
  },
  {
    name: "leads-js",
    from: "browsers and the edge",
    language: "JavaScript",
    about: "Browser and edge runtimes. A key never goes into a page: a page calls your own server.",
  },
  { name: "leads-python", from: "Python", language: "Python", about: "Python programs." },
  { name: "leads-ruby", from: "Ruby", language: "Ruby", about: "Ruby programs." },
  { name: "leads-php", from: "PHP", language: "PHP", about: "PHP programs and sites." },
  { name: "leads-java", from: "Java", language: "Java", about: "Programs on the JVM." },
  { name: "leads-dotnet", from: ".NET", language: null, about: "Programs on .NET." },
];
