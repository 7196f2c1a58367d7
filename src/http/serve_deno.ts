import type { Listener, ListenOptions } from "./options.ts";
export function serveDeno(_options: ListenOptions): Promise<Listener> {
  throw new Error("not yet");
}
