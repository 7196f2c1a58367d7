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
  readonly language: string;
  /** For whom. */
  readonly about: string;
}

/** All of them. */
export const kits: readonly Kit[] = [
  {
    name: "leads-go",
    language: "Go",
    about: "Go services. Deadlines come from the caller's context.",
  },
  {
    name: "leads-cli",
    language: "Shell",
    about:
      "The command line: check a key, post a lead, read the vocabulary. For trying things, and for cron jobs.",
  },
  { name: "leads-rust", language: "Rust", about: "Rust programs." },
  {
    name: "leads-node",
    language: "TypeScript",
    about: "Node.js, in JavaScript or TypeScript.",
  },
  {
    name: "leads-js",
    language: "JavaScript",
    about:
      "Browser and edge runtimes, where `fetch` is all there is. A key never goes into a page: in a browser call your own server with it.",
  },
  { name: "leads-python", language: "Python", about: "Python programs and notebooks." },
  { name: "leads-ruby", language: "Ruby", about: "Ruby, with or without Rails." },
  { name: "leads-php", language: "PHP", about: "PHP sites, plug-ins of content systems among them." },
  { name: "leads-java", language: "Java", about: "Java and the other languages of the JVM." },
  { name: "leads-dotnet", language: "C#", about: "C# and the other languages of .NET." },
];
