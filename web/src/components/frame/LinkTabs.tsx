import { Link } from '@tanstack/react-router';
import classes from './LinkTabs.module.css';

/** The pages of one subject, below their common heading. */
export function LinkTabs(props: {
  label: string;
  /** The address of the shown page. */
  active: string;
  pages: { to: string; name: string }[];
}) {
  return (
    <nav aria-label={props.label} className={classes.tabs}>
      {props.pages.map(({ to, name }) => (
        <Link
          key={to}
          to={to}
          className={classes.tab}
          activeOptions={{ exact: true }}
          aria-current={to === props.active ? 'page' : undefined}
        >
          {name}
        </Link>
      ))}
    </nav>
  );
}
