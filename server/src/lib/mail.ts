import type { Transporter } from 'nodemailer';

/** E-mail through an SMTP server. */

export interface Letter {
  to: string;
  subject: string;
  text: string;
}

export interface Mail {
  /** Settles when the server has taken it; throws where it did not. */
  send(letter: Letter): Promise<void>;
  /** Settles when the server has greeted and taken the password; throws where it did not. */
  answers(): Promise<void>;
}

/** How long a server may take, in milliseconds. */
const patience = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 20_000 };

/** `url`: smtp://USER:PASSWORD@HOST:PORT, or smtps://…; `from`: the sender's address. */
export function createMail({ url, from }: { url: string; from: string }): Mail {
  let transport: Promise<Transporter> | undefined;
  const open = async () => {
    // Only where mail is set up: it takes memory that few need.
    const { createTransport } = await import('nodemailer');
    const safe = { disableFileAccess: true, disableUrlAccess: true };
    return createTransport({ url, ...patience, ...safe }, { from });
  };
  return {
    async answers() {
      const opened = await (transport ??= open());
      await opened.verify();
    },
    async send({ to, subject, text }) {
      const opened = await (transport ??= open());
      // As an object it is one address, whatever signs are in it.
      await opened.sendMail({ to: { name: '', address: to }, subject, text });
    },
  };
}
