import type { NotificationData } from '@mantine/notifications';

/** Says something in the corner of the window. What shows it is loaded with the first notice. */
export function notice(told: NotificationData): void {
  void import('./Notices.tsx').then(({ show }) => show(told));
}
