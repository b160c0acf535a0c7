import { exits, Stop } from '../exits.ts';

/** Questions go to stderr; stdout is for the result only. */

const where = { output: process.stderr, withGuide: false };

export async function ask(message: string): Promise<boolean> {
  const { confirm, isCancel } = await import('@clack/prompts');
  const answer = await confirm({ message, initialValue: false, ...where });
  if (isCancel(answer)) throw interrupted();
  return answer;
}

export async function askText(message: string, usual: string): Promise<string> {
  const { text, isCancel } = await import('@clack/prompts');
  const answer = await text({ message, initialValue: usual, ...where });
  if (isCancel(answer)) throw interrupted();
  return answer ?? '';
}

export async function askSecret(message: string): Promise<string> {
  const { password, isCancel } = await import('@clack/prompts');
  const answer = await password({
    message,
    validate: (value) => (value?.trim() ? undefined : 'A key begins with fbx_.'),
    ...where,
  });
  if (isCancel(answer)) throw interrupted();
  return answer;
}

function interrupted(): Stop {
  return new Stop(exits.interrupted, 'interrupted', 'Nothing was done.');
}
