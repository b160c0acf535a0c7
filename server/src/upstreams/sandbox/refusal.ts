/** The caller's input cannot be worked with. The message is for the caller. */
export class Refusal extends Error {
  override name = 'Refusal';
}
