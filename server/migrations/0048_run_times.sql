-- The catalog says how long a model's last runs took; only finished jobs are in the index, newest at its end.

create index requests_run_times on requests (model_id, completed_at) include (started_at)
  where status = 'COMPLETED' and kind <> 'text' and started_at is not null;
