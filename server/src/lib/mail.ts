import type { Transporter } from 'nodemailer';
import type { Parameters } from './outbound/parameters.ts';

/** E-mail through an SMTP server. */

export interface Letter {
  to: string;
  subject: string;
  text: string;
}

export interface Mail {
  /** Settles when the server has accepted the e-mail; throws if it did not. */
  send(letter: Letter): Promise<void>;
  /** Settles when the server has answered and accepted the password; throws if it did not. */
  checkConnection(): Promise<void>;
}

const truth = ['true', 'false'];

/** Parameters of a URL; its other options could send the letters elsewhere, or print passwords. */
export const mailParameters: Parameters = {
  requireTLS: truth,
  ignoreTLS: truth,
  'tls.rejectUnauthorized': truth,
  'tls.servername': /^[a-z0-9_.-]+$/i,
  name: /^[a-z0-9_.:[\]-]+$/i,
  authMethod: ['PLAIN', 'LOGIN', 'CRAM-MD5'],
};

/** Time limits of the server, in milliseconds. */
const patience = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 20_000 };

/** `url`: smtp://USER:PASSWORD@HOST:PORT?…, or smtps://…; `from`: the sender's address. */
export function createMail({ url, from }: { url: string; from: string }): Mail {
  let transport: Promise<Transporter> | undefined;
  const open = async () => {
    // Loaded only if mail is set up, because it needs memory.
    const { createTransport } = await import('nodemailer');
    const safe = { disableFileAccess: true, disableUrlAccess: true };
    return createTransport({ url, ...patience, ...safe }, { from });
  };
  return {
    async checkConnection() {
      const opened = await (transport ??= open());
      await opened.verify();
    },
    async send({ to, subject, text }) {
      const opened = await (transport ??= open());
      // As an object, `to` is a single address, whatever characters it contains.
      await opened.sendMail({ to: { name: '', address: to }, subject, text });
    },
  };
}
