import { formatUsd } from '../price/money.ts';

/** Alerts of an account: when they come, and their e-mail. Pure. */

/** Threshold of accounts that have chosen none. */
export const usualLowBalance = 5_000_000n;

/** When something is a cause of an alert. */
export const alertBounds = {
  /** A key has used so much of its monthly limit, in percent. */
  nearPercent: 80,
  /** The newest webhooks, all sent within an hour, have all failed. */
  webhooks: 5,
  /** So many jobs ended within an hour, and more than half of them failed. */
  jobs: 10,
};

interface KeyFacts {
  name: string;
  /** Names need not differ. Absent in causes of earlier versions. */
  last4?: string;
  spent_usd_micro: string;
  limit_usd_micro: string;
}

/** The facts of each cause, as they are stored. */
export interface CauseFacts {
  key_near: KeyFacts;
  key_full: KeyFacts;
  webhooks: { failed: number };
  jobs: { ended: number; failed: number };
}

export type AlertCause = {
  [Cause in keyof CauseFacts]: { cause: Cause; facts: CauseFacts[Cause] };
}[keyof CauseFacts];

const linesMax = 20;

/** One e-mail about all that was found, in English and in Russian. */
export function alertLetter(
  causes: readonly AlertCause[],
  name: string,
  origin: string,
): { subject: string; text: string } {
  const pairs = causes.slice(0, linesMax).map((cause) => sentences(cause, origin));
  const more = causes.length - pairs.length;
  const listed = (at: 0 | 1, rest: string) =>
    [...pairs.map((pair) => `- ${pair[at]}`), ...(more > 0 ? [`- ${rest}`] : [])].join('\n');
  const settings = `${origin}/dashboard/money/alerts`;
  const text = [
    `The account ${name} needs attention:`,
    listed(0, `and ${more} more`),
    `Each comes once a month for a key's limit, and once a day for the rest. Turn alerts on and off here:\n${settings}`,
    '———',
    `Аккаунт ${name} требует внимания:`,
    listed(1, `и ещё ${more}`),
    `О лимите ключа сообщаем раз в месяц, об остальном раз в день. Включить и выключить оповещения:\n${settings}`,
    '',
  ].join('\n\n');
  return { subject: 'Your Farebox account needs attention', text };
}

function sentences({ cause, facts }: AlertCause, origin: string): [en: string, ru: string] {
  switch (cause) {
    case 'key_near':
    case 'key_full': {
      const [spent, limit] = [facts.spent_usd_micro, facts.limit_usd_micro].map((each) =>
        formatUsd(BigInt(each)),
      );
      const last = facts.last4 === undefined ? '' : ` (…${facts.last4})`;
      const page = `${origin}/dashboard/keys`;
      return cause === 'key_near'
        ? [
            `The key "${facts.name}"${last} has used ${spent} of ${limit} USD of this month's limit: ${page}`,
            `Ключ «${facts.name}»${last} потратил ${spent} из ${limit} USD лимита на месяц: ${page}`,
          ]
        : [
            `The key "${facts.name}"${last} has used up this month's limit of ${limit} USD, so its requests are refused: ${page}`,
            `Ключ «${facts.name}»${last} исчерпал лимит на месяц, ${limit} USD, и его запросы отклоняются: ${page}`,
          ];
    }
    case 'webhooks': {
      const page = `${origin}/dashboard/webhooks?failed=true`;
      return [
        `Webhooks fail. The newest ${facts.failed} all failed within an hour: ${page}`,
        `Вебхуки не доходят. Последние ${facts.failed} не дошли в течение часа: ${page}`,
      ];
    }
    case 'jobs': {
      const page = `${origin}/dashboard/requests?status=FAILED`;
      return [
        `Jobs fail: ${facts.failed} of ${facts.ended} that ended within an hour: ${page}`,
        `Задания не удаются: ${facts.failed} из ${facts.ended} завершённых за час: ${page}`,
      ];
    }
  }
}
