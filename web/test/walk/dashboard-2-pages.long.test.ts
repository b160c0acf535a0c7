/** Pages of an account, in each window, scheme and language (part 2). */
import { walkArea } from './walk-area.ts';

walkArea('dashboard', 2);
