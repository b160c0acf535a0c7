-- What the operator tells all visitors of the pages at the moment.

create table banner (
  is_one     boolean primary key default true check (is_one),
  en         text check (en <> '' and length(en) <= 500),
  ru         text check (ru <> '' and length(ru) <= 500),
  changed_at timestamptz not null default now(),
  check (en is not null or ru is not null)
);
comment on table banner is 'At most one row: the text above all pages.';
comment on column banner.is_one is 'Always true, so that there is one row at most.';
comment on column banner.en is 'In English; null: the Russian text is shown there, too.';
comment on column banner.ru is 'In Russian; null: the English text is shown there, too.';
comment on column banner.changed_at is 'Who has closed an earlier text sees this one.';
