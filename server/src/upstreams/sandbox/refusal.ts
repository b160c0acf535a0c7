/** Thrown if the caller's input cannot be used. The message is for the caller. */
export class SandboxRefusal extends Error {
  override name = 'SandboxRefusal';
}
