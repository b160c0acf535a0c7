/** The operator's answer to a command that cannot be carried out: said in words, no stack. */
export class Refused extends Error {}
