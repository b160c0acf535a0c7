import { Command } from 'commander';
import manifest from '../../package.json' with { type: 'json' };
import { exitMeanings } from './exits.ts';
import {
  bold,
  count,
  linesOf,
  moment,
  once,
  oneOf,
  remark,
  run,
  several,
  usd,
  verb,
} from './verb.ts';

/**
 * All verbs of `fare`, their arguments and descriptions. Help, completions, the man page and the
 * reference in docs/fare.md are made from this. A verb's file is loaded when it is called.
 */

export function buildProgram(): Command {
  const program = new Command('fare')
    .description('Text, image and video models from the command line. The price is shown first.')
    .option('--json', 'print JSON on stdout: one object, or one per line if there are several')
    .option('-q, --quiet', 'no progress and no remarks on stderr')
    .version(manifest.version, '--version', 'print the version')
    .configureHelp({
      showGlobalOptions: true,
      styleTitle: bold,
      // The arguments of each verb are in its own help.
      subcommandTerm: (command) => command.name(),
      minWidthToWrap: 12,
    })
    .showHelpAfterError('Try `fare --help`, or `fare VERB --help`.')
    .exitOverride();
  remark(program, {
    says: [
      'Results go to stdout, everything else to stderr, so a verb can be used in a pipe. `fare VERB --help` explains a verb.',
    ],
    examples: [
      ['fare login', 'save a key'],
      ['fare models video', 'search for a model'],
      ['fare run sandbox-sketch --prompt "a cat"', 'make an image'],
    ],
  });
  program.addHelpText('after', exitHelp);
  program.commandsGroup('Models:');
  addModels(program);
  addRuns(program);
  program.commandsGroup('Requests:');
  addRequests(program);
  program.commandsGroup('Account:');
  addAccount(program);
  program.commandsGroup('Tools:');
  addRest(program);
  program.addHelpCommand(
    new Command('help')
      .argument('[verb]')
      .description('show help for a command')
      .helpGroup('Tools:'),
  );
  return program;
}

function addAccount(program: Command): void {
  const login = verb(program, 'login', 'save a key and the address of its service')
    .option('--key-stdin', 'read the key from stdin instead of asking')
    .option(
      '--base-url <address>',
      'address of the service; default: the saved one, or this machine',
    )
    .action(run(async () => (await import('./login.ts')).login));
  remark(login, {
    says: [
      'Asks for the key without showing it, checks it, and saves it in a file that only you can read. The key is sent only to the address that it was saved with.',
      'FAREBOX_API_KEY and FAREBOX_BASE_URL, if they are set, override the saved values.',
    ],
    examples: [
      ['fare login', 'asks for the address and the key'],
      ['fare login --base-url https://fare.example.com --key-stdin < key.txt', 'asks for nothing'],
    ],
  });
  verb(program, 'logout', 'delete the saved key').action(
    run(async () => (await import('./login.ts')).logout),
  );
  const balance = verb(program, 'balance', 'show what can be spent');
  balance.action(run(async () => (await import('./balance.ts')).balance));
  addUsage(program);
  const topup = verb(program, 'topup', 'show where to send USDT, wait until it is credited')
    .option('--chain <name>', 'the blockchain; default: the first one of the service')
    .option('--no-wait', 'show the address only')
    .option('--since <time>', 'also count earlier deposits, from this time on', moment)
    .option('--timeout <seconds>', 'how long to wait; default: until one is credited', count)
    .action(run(async () => (await import('./topup.ts')).topup));
  remark(topup, {
    says: [
      'The address is yours for ever: send any amount from the minimum on. Only the named token on the named network is credited.',
      'Ctrl-C ends the waiting only; the deposit is credited all the same. With --json: the address, then each change of a deposit.',
    ],
    examples: [
      ['fare topup', 'shows the address and its QR code, and waits'],
      ['fare topup --chain bsc --no-wait --json', 'the address, for a script'],
      [
        'fare topup --since 2027-01-31T12:00Z',
        'also counts deposits that came before this command',
      ],
      ['fare topup --chain bsc --timeout 600', 'exit 5 if none was credited in time'],
    ],
  });
  const settings = verb(program, 'settings', 'show or change the settings')
    .argument('[name]', 'ask-above-usd, max-usd or chat-model')
    .argument('[value]', 'the new value; "none" removes it')
    .action(run(async () => (await import('./settings-verb.ts')).settings));
  remark(settings, {
    says: [
      'ask-above-usd: you are asked before a higher price is spent (default 0.25). max-usd: a higher price is never paid. chat-model: the model that `fare chat` uses.',
    ],
    examples: [
      ['fare settings', 'show all'],
      ['fare settings max-usd 2', 'never pay more than 2 USD for one request'],
    ],
  });
}

function addUsage(program: Command): void {
  const usage = verb(program, 'usage', 'add up requests, tokens and charges')
    .option('--by <groups>', 'day, model, key, person or metadata.NAME, with commas between', 'day')
    .option('--from <day>', 'the first day (UTC); default: 30 days before --to')
    .option('--to <day>', 'the day after the last one; default: tomorrow')
    .option('--model <model>', 'only requests to this model')
    .option('--key <id>', 'only requests made with this key')
    .option('--metadata <name=value>', 'only requests with this pair; may be repeated', several)
    .action(run(async () => (await import('./usage.ts')).usage));
  remark(usage, {
    says: [
      'Counts the requests of all keys of the account, unless --key names one, on the day (UTC) on which they ended; at most 31 days. Refunds are subtracted on the day they were booked.',
    ],
    examples: [
      ['fare usage', 'the last 30 days, by day'],
      ['fare usage --by model,metadata.customer --from 2027-01-01 --to 2027-02-01', 'one month'],
      ['fare usage --metadata customer=42', 'one of your customers'],
    ],
  });
}

function addModels(program: Command): void {
  const models = verb(program, 'models', 'list the models and their prices')
    .argument('[search...]', 'words that occur in the id, name, task or description')
    .addOption(oneOf('--kind <kind>', 'only models of this kind', ['video', 'image', 'text']))
    .action(run(async () => (await import('./models.ts')).models));
  remark(models, {
    says: ['Needs no key.'],
    examples: [
      ['fare models upscale', 'models that can upscale'],
      ['fare models --kind text --json', 'all text models, one JSON object per line'],
    ],
  });
  verb(program, 'model', 'show inputs, price and an example')
    .argument('<model>', 'its id, as `fare models` lists it')
    .action(run(async () => (await import('./models.ts')).model));
  const price = withInput(verb(program, 'price', 'show exactly what a call costs')).action(
    run(async () => (await import('./price.ts')).price),
  );
  remark(price, {
    says: [
      'Spends nothing and uploads nothing. For a text model give input_tokens and output_tokens.',
    ],
    examples: [
      [
        'fare price sandbox/film/text-to-video duration_seconds=8 resolution=720p',
        'the price of a video',
      ],
      ['fare price sandbox/chat input_tokens=1000 output_tokens=500', 'the price of a chat call'],
    ],
  });
}

function addRuns(program: Command): void {
  const runs = withInput(
    verb(program, 'run', 'run a model: show the price, wait, save the outputs'),
  )
    .option('-o, --out <path>', 'file or folder for the outputs; "-" writes one to stdout', once)
    .option('-f, --force', 'replace existing files')
    .option('-y, --yes', 'do not ask about the price')
    .option('--max-usd <amount>', 'spend at most this; lower prices need no confirmation', usd)
    .option('--webhook <url>', 'notify this address when the request ends', once)
    .option('--metadata <name=value>', 'a pair of your own; may be repeated', several)
    .option('--no-wait', 'submit only, and print the id')
    .option('--no-save', 'wait, but do not save the outputs')
    .option('--no-preview', 'do not show images in the terminal')
    .action(run(async () => (await import('./jobs/run.ts')).runModel));
  remark(runs, {
    says: [
      'The price is shown before anything is spent, and the charge is never higher. You are asked if the price is above `fare settings ask-above-usd`; in a script, pass --yes or --max-usd. A warning names inputs that the model does not have.',
      'Local files in the input are uploaded. Outputs are saved in the current folder, named after the prompt; existing files are replaced only with --force.',
      'Ctrl-C cancels a request that is still in the queue. A running request goes on without this command; `fare resume` waits for it and saves its outputs, even after this computer was switched off.',
      'The paths of the saved files, or the text output, are printed to stdout.',
    ],
    examples: [
      ['fare run sandbox-sketch --prompt "a lighthouse at dawn" -o dawn.png', 'an image'],
      ['fare run sandbox/canvas/upscale --image ./a.png scale=2', 'with a local file'],
      ['fare run sandbox/film/text-to-video --input film.json --max-usd 1 --json', 'in a script'],
    ],
  });
  const resume = verb(program, 'resume', 'resume an interrupted run')
    .argument('[id]', 'its id; default: the newest request that has not ended')
    .option(
      '-o, --out <path>',
      'file or folder for the outputs; default: as in the interrupted run',
    )
    .option('-f, --force', 'replace existing files')
    .option('--no-preview', 'do not show images in the terminal')
    .action(run(async () => (await import('./jobs/resume.ts')).resume));
  remark(resume, {
    says: ['You never pay twice: it stays the same request, however often you resume it.'],
    examples: [['fare resume', 'after Ctrl-C, a lost connection or a crash']],
  });
  const chat = verb(program, 'chat', 'talk to a text model')
    .argument(
      '[model]',
      'its id; default: `fare settings chat-model`, or else the cheapest text model',
    )
    .argument(
      '[message...]',
      'send this, print the reply and end; a final "-" adds the text from stdin; default: a conversation, or the message from a pipe',
    )
    .option('-s, --system <text>', 'instructions for the model', once)
    .option('--max-tokens <n>', 'maximum length of a reply, in tokens', count)
    .action(run(async () => (await import('./chat.ts')).chat));
  remark(chat, {
    says: [
      'The model and its price are shown before the first call, and the cost of each reply is shown below it. In a terminal, the model remembers the conversation; /help lists the commands.',
      'Ctrl-C stops waiting for a reply. A model with `on_disconnect: finish` still completes the reply, and the whole reply is charged; other models stop, and the part received is charged.',
      'With a message, or in a pipe, only the reply is printed to stdout. To send both, put "-" after the message: the text from the pipe is added to it.',
    ],
    examples: [
      ['fare chat', 'a conversation'],
      ['git diff | fare chat sandbox/chat "Write a commit message:" -', 'one reply'],
    ],
  });
}

function addRequests(program: Command): void {
  const list = verb(program, 'list', 'list requests, newest first')
    .addOption(oneOf('--status <status>', 'only requests with this status', statuses))
    .option('--model <model>', 'only requests to this model')
    .option('--metadata <name=value>', 'only requests with this pair; may be repeated', several)
    .option('--call-id <number>', 'only of the call with this number: x-request-id, or your own')
    .option('-n, --limit <n>', 'how many to list', count, 20)
    .action(run(async () => (await import('./requests.ts')).list));
  remark(list, {
    says: [],
    examples: [['fare list --status FAILED -n 5', 'the last five that failed']],
  });
  one('status', 'show the status of a request').action(
    run(async () => (await import('./requests.ts')).status),
  );
  const wait = one('wait', 'wait until a request has ended').action(
    run(async () => (await import('./requests.ts')).wait),
  );
  remark(wait, {
    says: ['Exits with 0 if it was completed, with 1 if it failed or was cancelled.'],
    examples: [
      ['fare wait last && fare download last', '"last" is the newest request run on this computer'],
    ],
  });
  const cancelling = one('cancel', 'cancel a request')
    .option('--running', 'also ask a running job to stop')
    .action(run(async () => (await import('./requests.ts')).cancel));
  remark(cancelling, {
    says: [
      'A request that is IN_QUEUE is cancelled at once and costs nothing. With --running a running job is asked to stop, if its model has `on_cancel`: then it costs nothing (free), what the model bills for it (upstream), or all that was reserved (full). A job that ends before is completed and charged as usual.',
    ],
    examples: [],
  });
  one('result', 'print the output as JSON').action(
    run(async () => (await import('./requests.ts')).result),
  );
  const download = one('download', 'save the outputs')
    .option('-o, --out <path>', 'file or folder; "-" writes one output to stdout')
    .option('-f, --force', 'replace existing files')
    .option('--no-preview', 'do not show images in the terminal')
    .action(run(async () => (await import('./requests.ts')).download));
  remark(download, {
    says: ['Outputs are kept for 24 hours after the request ends.'],
    examples: [],
  });

  function one(name: string, says: string): Command {
    return verb(program, name, says).argument(
      '<id>',
      'id of the request; "last" is the newest one run on this computer',
    );
  }
}

function addRest(program: Command): void {
  const upload = verb(program, 'upload', 'upload a file, print its id')
    .argument('<file>', 'image, video, audio, PDF or text; "-" reads stdin')
    .action(run(async () => (await import('./jobs/upload.ts')).upload));
  remark(upload, {
    says: [
      'The id goes into any URL field of an input. Files are kept until expires_at (by default 7 days). `fare run` uploads local files by itself.',
    ],
    examples: [['ID=$(fare upload photo.jpg)', 'upload once, use often']],
  });
  const webhook = program.command('webhook').description('notifications of ended requests');
  const listen = verb(webhook, 'listen', 'receive notifications on this computer')
    .option('-p, --port <n>', 'port to listen on, for this computer only', count, 4040)
    .option('--secret-stdin', 'read the secret from stdin instead of FAREBOX_WEBHOOK_SECRET')
    .option(
      '--forward-to <url>',
      'do not listen: follow the requests of the account, and post to this address when one ends',
    )
    .action(run(async () => (await import('./webhook.ts')).listen));
  remark(listen, {
    says: [
      'The service sends to public addresses only (for the demo account of a trial also to this computer): put a tunnel of your choice in front of this port, and pass its address to `fare run --webhook`.',
      'With --forward-to no tunnel is needed: this command itself makes the notifications of all media requests. It signs them with the first secret, or with a new secret that it shows. A chat has no notification.',
      'A notification without a valid signature is shown as rejected and answered with 400. Calls from pages in a browser are refused with 403 and not shown.',
    ],
    examples: [
      ['fare webhook listen --secret-stdin < secret.txt', 'until Ctrl-C'],
      ['fare webhook listen --forward-to http://localhost:3000/webhook', 'to your own server'],
    ],
  });
  const mcp = verb(program, 'mcp', 'run an MCP server')
    .option('--max-usd <amount>', 'the most that it may spend in total, in USD; default: 1', usd)
    .option('-y, --yes', 'do not ask the user before spending money')
    .option('--root <folder>', 'files in this folder may be uploaded; may be repeated', several)
    .option('--http <port>', 'serve over HTTP on this port instead of stdin and stdout', count)
    .option('--host <address>', 'address to listen on for HTTP; default: 127.0.0.1')
    .action(run(async () => (await import('./mcp/mcp-verb.ts')).mcp));
  remark(mcp, {
    says: [
      'Speaks the Model Context Protocol. Your assistant starts this command itself. Over HTTP, callers need a token: FAREBOX_MCP_TOKEN, or the one that is printed.',
    ],
    examples: [['fare mcp --max-usd 5 --root ~/Pictures', 'over stdin and stdout']],
  });
  const completions = verb(program, 'completions', 'print shell completions')
    .argument('<shell>', 'bash, zsh or fish')
    .action(run(async () => (await import('./help/completions.ts')).completions));
  remark(completions, {
    says: [],
    examples: [
      ['eval "$(fare completions bash)"', 'in ~/.bashrc'],
      ['eval "$(fare completions zsh)"', 'in ~/.zshrc'],
      ['fare completions fish | source', 'in ~/.config/fish/config.fish'],
    ],
  });
}

function exitHelp(): string {
  const rows = exitMeanings.map(([code, says]) => {
    const [first, ...rest] = linesOf(says, 8);
    return [`  ${String(code).padEnd(5)} ${first}`, ...rest.map((line) => `        ${line}`)].join(
      '\n',
    );
  });
  return `\n${bold('Exit codes:')}\n${rows.join('\n')}`;
}

/** An option that is none, as an input: `seed=7` for `--seed 7`. */
function pairOf(given: string): string {
  const [name, own] = given.replace(/^-+/, '').split(/=(.*)/s);
  const next = process.argv[process.argv.indexOf(given) + 1];
  const value = own ?? (next === undefined || next.startsWith('-') ? 'VALUE' : next);
  return `${name!.replaceAll('-', '_')}=${/\s/.test(value) ? JSON.stringify(value) : value}`;
}

const statuses = ['IN_QUEUE', 'IN_PROGRESS', 'COMPLETED', 'FAILED', 'CANCELLED'];

/** Adds the options that give a model's input. */
function withInput(command: Command): Command {
  // Commander calls this for an unknown option. Most are inputs, not misspelt options.
  Object.assign(command, {
    unknownOption: (given: string) => {
      const text = `error: unknown option '${given}'\nInputs are key=value: ${pairOf(given)}`;
      command.error(text, { code: 'commander.unknownOption' });
    },
  });
  return command
    .argument('<model>', 'its id, as `fare models` lists it')
    .argument(
      '[values...]',
      'inputs as key=value; key=@path uploads a file into a media field, and is the text of the file elsewhere',
    )
    .option('--prompt <text>', 'what to make; "-" reads it from stdin', once)
    .option('--image <file>', 'an image: path, address or file id; may be repeated', several)
    .option('--video <file>', 'a video, given like --image', several)
    .option('--audio <file>', 'audio, given like --image', several)
    .option('--set <key=value>', 'one more input, like the values after the model', several)
    .option('--input <file>', 'the input as a JSON file; "-" reads it from stdin', once);
}
