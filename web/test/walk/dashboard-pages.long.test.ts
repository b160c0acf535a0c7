/** Pages of an account, in each window, scheme and language. */
import { walkArea } from './walk-area.ts';

walkArea('dashboard');
