/** The caller's input cannot be worked with. The message is for the caller. */
export class Refusal extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'Refusal';
  }
}
