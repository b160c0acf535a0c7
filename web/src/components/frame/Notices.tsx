import '@mantine/notifications/styles.css';
import { notifications, Notifications, type NotificationData } from '@mantine/notifications';
import { mountBeside } from './beside.tsx';
import classes from './Shell.module.css';

let mounted = false;

/** Shows a notice; the first one also mounts their container. */
export function show(told: NotificationData): void {
  if (!mounted) {
    mounted = true;
    mountBeside(() => <Notifications position="bottom-right" className={classes.notices} />);
  }
  notifications.show(told);
}
