/** An operator's command that cannot be carried out. The message says why, for people. */
export class Refused extends Error {}
