import { Worker } from 'node:worker_threads';

/** A task took longer than its limit, so its thread was ended. */
export class ThreadTimeout extends Error {
  readonly limitMs: number;
  constructor(limitMs: number) {
    super(`the thread took longer than ${limitMs} ms`);
    this.name = 'ThreadTimeout';
    this.limitMs = limitMs;
  }
}

interface Job<Task, Answer> {
  task: Task;
  limitMs: number;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/**
 * A few threads for work that might never end, because a thread can be stopped and a promise
 * cannot. The script answers each message with one message. Threads start when they are needed;
 * idle threads stay, without keeping the process alive. Threads get no environment variables.
 */
export class Threads<Task, Answer> {
  readonly #script: URL;
  readonly #size: number;
  readonly #memoryMb: number;
  readonly #idle: Worker[] = [];
  readonly #waiting: Job<Task, Answer>[] = [];
  #busy = 0;

  constructor(script: URL, options: { size: number; memoryMb: number }) {
    this.#script = script;
    this.#size = options.size;
    this.#memoryMb = options.memoryMb;
  }

  /**
   * Rejects with `ThreadTimeout`, or with the error that ended the thread, such as
   * `ERR_WORKER_OUT_OF_MEMORY`. The time limit begins when a thread takes the task.
   */
  run(task: Task, limitMs: number): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    this.#waiting.push({ task, limitMs, resolve, reject });
    this.#next();
    return promise;
  }

  #next(): void {
    if (this.#busy === this.#size) return;
    const job = this.#waiting.shift();
    if (!job) return;
    this.#busy += 1;
    this.#give(this.#idle.pop() ?? this.#start(), job);
  }

  #give(worker: Worker, job: Job<Task, Answer>): void {
    const end = (): void => {
      clearTimeout(timer);
      worker.off('message', onMessage).off('error', onError).off('exit', onExit);
      this.#busy -= 1;
    };
    const onMessage = (answer: Answer): void => {
      end();
      worker.unref();
      this.#idle.push(worker);
      job.resolve(answer);
      this.#next();
    };
    const onError = (error: unknown): void => {
      end();
      void worker.terminate();
      job.reject(error);
      this.#next();
    };
    const onExit = (): void => onError(new Error('the worker thread ended without an answer'));
    const timer = setTimeout(() => onError(new ThreadTimeout(job.limitMs)), job.limitMs);
    worker.on('message', onMessage).on('error', onError).on('exit', onExit);
    worker.ref();
    worker.postMessage(job.task);
  }

  #start(): Worker {
    const worker = new Worker(this.#script, {
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: this.#memoryMb },
    });
    // A thread that fails while idle must neither end the process nor get more work.
    worker.on('error', () => this.#forget(worker)).on('exit', () => this.#forget(worker));
    return worker;
  }

  #forget(worker: Worker): void {
    const at = this.#idle.indexOf(worker);
    if (at !== -1) this.#idle.splice(at, 1);
  }
}
